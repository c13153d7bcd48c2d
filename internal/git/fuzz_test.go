package git

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"noxmesh/document/documenttest"
	"noxmesh/internal/fault"
)

// FuzzParseURL: whatever is taken could not be an option, another transport, or
// more than one line, and its protocol is one of four.
func FuzzParseURL(f *testing.F) {
	for _, s := range []string{
		"https://example.org/r", "git@h:r", "ssh://a@h:1/r", "file:///srv/git/r", "http://127.0.0.1/r", "ext::sh", "-x@h:r", "https://h/%2e%2e",
		"https://h:8443/r.git", "git://[::1]/r", "https://user:secret@h/r", "ssh://-oProxyCommand=x/r", "https://h/\u202er", "", "h:r\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		protocol, err := parseURL(s, allowed())
		if err != nil {
			documenttest.Plain(t, err)
			if fault.KindOf(err) != fault.Invalid {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		if strings.HasPrefix(s, "-") || strings.Contains(s, "::") && !strings.Contains(s, "[") && protocol != "https" && protocol != "file" && protocol != "http" && !strings.HasPrefix(s, "ssh://") {
			t.Fatalf("%q is taken", s)
		}
		if strings.ContainsAny(s, "\x00\n\r\t \\\x1b") {
			t.Fatalf("%q is taken", s)
		}
		if protocol != "ssh" && !strings.HasPrefix(s, protocol+"://") {
			t.Fatalf("%q may be read over %q", s, protocol)
		}
	})
}

// FuzzParseRefs: whatever a forge says, a ref is a whole commit, and only what
// was asked for is listened to.
func FuzzParseRefs(f *testing.F) {
	commit := strings.Repeat("a1", 20)
	for _, s := range []string{
		"", "\n", commit + "\tHEAD\n", "ref: refs/heads/main\tHEAD\n" + commit + "\tHEAD\n", commit + "\trefs/heads/main\n" + strings.Repeat("b", 64) + "\trefs/tags/v1^{}\n",
		commit + " refs/heads/main\n", commit[:39] + "\trefs/heads/main", "ref: ref: x\tHEAD\tHEAD", "\xff\t\x1b[2J\n", "<html>\t</html>\n", "0000" + commit + "\tHEAD",
	} {
		f.Add([]byte(s), "refs/heads/main")
	}
	f.Fuzz(func(t *testing.T, out []byte, name string) {
		defer documenttest.Bounded(t, len(out))()
		all, _ := parseRefs(out, nil)
		for ref, id := range all {
			if CheckCommit(id) != nil || !bytes.Contains(out, []byte(id+"\t"+ref)) {
				t.Errorf("%q is at %q", ref, id)
			}
		}
		one, _ := parseRefs(out, []string{name})
		for ref, id := range one {
			if ref != name || all[ref] != id {
				t.Errorf("asked for %q, told of %q at %q, which is at %q", name, ref, id, all[ref])
			}
		}
	})
}

// FuzzParseEntry: a line of a tree is an entry with a whole id, or none.
func FuzzParseEntry(f *testing.F) {
	id := strings.Repeat("0f", 20)
	for _, s := range []string{
		"", "100644 blob " + id + "      12\tmodule.json", "040000 tree " + id + " -\ta/b", "100644 blob " + id + " -1\tx", "160000 commit " + id + " -\tsub",
		"100644 blob " + id + " 99999999999999999999\tx", "100644 blob " + id + " 1 2\tx", "a\tb\tc", "120000 blob " + id + " 3\t\x1b[2J\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		e, ok := parseEntry(line)
		if ok && (CheckCommit(e.id) != nil || !strings.HasSuffix(line, "\t"+e.path)) {
			t.Errorf("%q is %+v", line, e)
		}
	})
}

// FuzzSaid: whatever git or a forge says, the error is short, on one line, and
// nothing in it is obeyed; and a ref and a folder that are taken are clean.
func FuzzSaid(f *testing.F) {
	for _, s := range []string{
		"", "fatal: repository 'x' not found\n", "remote: \x1b[31mno\x1b[0m\nfatal: returned error: 403\n", "\xff\xfe", strings.Repeat("a", 5000), "remote: Repository not found\n",
		"refs/heads/main", "-", "--output=x", "refs/heads/a..b", "services/board", "../x", "a/.git/b",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		err := classify(context.Background(), errors.New("exit status 128"), []byte(s), time.Minute)
		documenttest.Plain(t, err)
		if fault.KindOf(err) == fault.Unknown || fault.KindOf(err) == fault.Broken {
			t.Errorf("%q is of kind %s", s, fault.KindOf(err))
		}
		for what, err := range map[string]error{"ref": CheckRef(s), "folder": CheckFolder(s), "commit": CheckCommit(s)} {
			if err != nil {
				documenttest.Plain(t, err)
			} else if what != "folder" && strings.HasPrefix(s, "-") || strings.ContainsAny(s, "\x00\n\x1b") || strings.Contains(s, "..") && (s == ".." || strings.HasPrefix(s, "../")) {
				t.Errorf("%q is taken", s)
			}
		}
	})
}

// FuzzAnswer: whatever a forge answers, both answers of the protocol are read or
// are odd; what is read is whole, was asked for, and stands in the answer.
func FuzzAnswer(f *testing.F) {
	id := strings.Repeat("a1", 20)
	advert := func(lines ...string) string {
		var b []byte
		for _, l := range lines {
			b = appendPacket(b, l)
		}
		return string(b) + "0000"
	}
	for _, s := range []string{
		"", "0000", advert("# service=git-upload-pack\n") + advert("version 2\n", "agent=git/2.39\n", "ls-refs=unborn\n", "fetch=shallow\n", "object-format=sha1\n"),
		advert("version 2\n", "ls-refs\n"), advert("version 1\n"), advert(id + " HEAD symref-target:refs/heads/main\n"), advert("unborn HEAD symref-target:refs/heads/main\n"),
		advert(id+" refs/heads/main\n", id+" refs/tags/v1 peeled:"+id+"\n"), "0004", "0003", "0001", "0002", "fff0", "ffff", "zzzz", "000", "0005\n0000", advert("ERR no\n"),
		advert(id+" refs/heads/main peeled:\n") + "x", advert(id + "  HEAD\n"),
	} {
		f.Add([]byte(s), "refs/heads/main")
	}
	f.Fuzz(func(t *testing.T, in []byte, name string) {
		defer documenttest.Bounded(t, len(in))()
		var o oddAnswer
		a, err := parseAdvertised(readPackets(bytes.NewReader(in)))
		if err != nil && !errors.As(err, &o) {
			t.Fatalf("%q: %v", in, err)
		}
		if err == nil && a.format != "" && a.format != "sha1" && a.format != "sha256" {
			t.Fatalf("%q: %+v", in, a)
		}
		refs, symref, err := advertised{format: "sha1"}.refs(readPackets(bytes.NewReader(in)), []string{name, name + "^{}", "HEAD"})
		if err != nil && !errors.As(err, &o) {
			t.Fatalf("%q: %v", in, err)
		}
		for ref, id := range refs {
			if len(id) != 40 || CheckCommit(id) != nil || !bytes.Contains(in, []byte(id)) || ref != "HEAD" && ref != "HEAD^{}" && ref != name && ref != name+"^{}" {
				t.Fatalf("asked for %q, told of %q at %q", name, ref, id)
			}
		}
		if symref != "" && !bytes.Contains(in, []byte("symref-target:"+symref)) {
			t.Fatalf("%q: %q", in, symref)
		}
	})
}
