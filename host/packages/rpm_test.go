package packages

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"noxmesh/host/system"
	"noxmesh/internal/fault"
)

// row is a line of what rpm lists.
func row(name, epoch, evr, arch string, n int) string {
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%d\n", name, epoch, evr, arch, n)
}

func rpmHas() string {
	return row("one", "0", "1.0-1", "x86_64", 1) + row("one", "0", "0.9-1", "i686", 2) + row("any", "2", "3.0-1.el9", noarch, 3) +
		row("twice", "0", "1.0-1", "x86_64", 4) + row("twice", "0", "2.0-1", "x86_64", 9) + row("moved", "0", "1.0-1", noarch, 5) + row("moved", "0", "2.0-1", "x86_64", 6)
}

// hinted is an error with what to do about it, as a report has it.
func hinted(err error) string {
	if hint := fault.HintOf(err); hint != "" {
		return err.Error() + "; " + hint
	}
	return err.Error()
}

func TestWhatRPMLists(t *testing.T) {
	t.Parallel()
	in, err := listed(rpmHas())
	must(t, err)
	in.native = "x86_64"
	var got []string
	for _, name := range []string{"one", "one:x86_64", "one:i686", "one:noarch", "any", "any:x86_64", "any:noarch", "any:i686", "twice", "moved", "nowhere"} {
		p := in.Of(name)
		got = append(got, fmt.Sprint(name, " ", p.Version, " ", p.Right(), p.There(), p.Held(), p.Doubtful()))
	}
	if want := []string{
		"one 1.0-1 true true false true", "one:x86_64 1.0-1 true true false true", "one:i686 0.9-1 true true false true", "one:noarch  false false false false",
		"any 2:3.0-1.el9 true true false true", "any:x86_64 2:3.0-1.el9 true true false true", "any:noarch 2:3.0-1.el9 true true false true", "any:i686  false false false false",
		"twice 1.0-1 and 2.0-1 false true false true", "moved 1.0-1 and 2.0-1 false true false true", "nowhere  false false false false",
	}; !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, bad := range []string{"one\t0\t1.0-1\tx86_64\n", "error: no\n", "\t0\t1\tx\t1\n"} {
		if _, err := listed(bad); err == nil {
			t.Errorf("%q is a list of packages", bad)
		}
	}
}

// Nobody asks rpm while the files of its database are as they were: on a folder that is no
// machine that fails.
func TestRPMIsAskedWhereItsDatabaseHasChanged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name string, at time.Time) {
		t.Helper()
		file := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must(t, os.WriteFile(file, []byte("any"), 0o644))
		must(t, os.Chtimes(file, at, at))
	}
	past := time.Now().Add(-time.Hour)
	put("var/lib/rpm/rpmdb.sqlite", past)
	sys, err := system.Open(dir)
	must(t, err)
	defer sys.Close()
	r := RPM{sys, &Seen{}}
	read := func() (Installed, error) {
		sys.Forget()
		return r.Read(t.Context(), nil)
	}
	if _, err := read(); err == nil {
		t.Fatal("it has asked nobody")
	}
	r.seen.in, err = listed(rpmHas())
	must(t, err)
	r.seen.in.native = "x86_64"
	files, settled, err := r.files()
	must(t, err)
	if r.seen.files = files; files == "" || !settled {
		t.Errorf("%q, %v", files, settled)
	}
	put("var/lib/rpm/.rpm.lock", time.Now())
	put("var/lib/rpm/rpmdb.sqlite-shm", time.Now())
	put("etc/dnf/plugins/versionlock.list", time.Now())
	must(t, os.WriteFile(filepath.Join(dir, "etc/dnf/plugins/versionlock.list"), []byte("one\n"), 0o644))
	if in, err := read(); err != nil || !in.Of("one").Held() || in.Of("any").Version != "2:3.0-1.el9" {
		t.Errorf("%v, %v", in, err)
	}
	put("var/lib/rpm/rpmdb.sqlite-wal", past)
	if _, err := read(); err == nil {
		t.Error("the database has changed, and nobody is asked")
	}
	put("var/lib/rpm/rpmdb.sqlite", time.Now())
	if _, settled, err := r.files(); settled || err != nil {
		t.Error("what has changed just now may change again and look the same")
	}
}

func TestWhatIsHeldOnAMachineOfDnf(t *testing.T) {
	t.Parallel()
	in, err := listed(rpmHas())
	must(t, err)
	in.native = "x86_64"
	for _, c := range []struct {
		of   []hold
		want string
	}{
		{lockedIn("# none\n\n!one-0:1.0-1.*\n"), ""},
		{lockedIn("one-0:1.0-1.*\n"), "one"},
		{lockedIn("one-0:7.0-1.* # another version than it has\n"), "one"},
		{lockedIn("any\n"), "any"},
		{lockedIn("a*\n"), "any"},
		{lockedIn("on\n"), ""},
		{lockedInTable("version = \"1.0\"\n[[packages]]\nname = \"one\"\ncomment = \"x\"\n"), "one"},
		{excludedIn("[main]\nexclude=one, a?y\n"), "one any"},
		{excludedIn("[main]\nexcludepkgs = x\n  one\ngpgcheck=1\n any\n"), "one"},
		{excludedIn("exclude=one\n[depot]\nexclude=any\n"), ""},
		{excludedIn("[main]\n#exclude=one\nexclude=*.x86_64 any-2:3.0-*\n"), "one any"},
		{[]hold{{pattern: "[", release: ""}}, ""},
	} {
		held := in.with(c.of)
		var got []string
		for _, name := range []string{"one", "any"} {
			if p := held.Of(name); p.Held() {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v holds %v, want %s", c.of, got, c.want)
		}
	}
	if in.Of("one").Held() {
		t.Error("what rpm has said has changed")
	}
}

func TestTheWordsForDnf(t *testing.T) {
	t.Parallel()
	in, err := listed(rpmHas())
	must(t, err)
	in.native = "x86_64"
	for _, c := range []struct {
		wanted []Want
		want   string
	}{
		{[]Want{{Name: "two"}, {Name: "one", Version: "1:2.0-1"}, {Name: "one:i686", Version: "2.0-1"}, {Name: "any:x86_64"}}, "install two one-1:2.0-1 one-2.0-1.i686 any"},
		{[]Want{{Name: "one", repeat: "1.0-1"}, {Name: "any", Version: "2:3.0-1.el9", repeat: "2:3.0-1.el9"}}, "reinstall one-1.0-1 any-2:3.0-1.el9"},
		{[]Want{{Name: "one", Version: "2.0-1", not: "1"}}, "install one-2.0-1"},
	} {
		words, err := dnfWords(c.wanted, in)
		must(t, err)
		if i := slices.Index(words, "--setopt=protected_packages=any,moved,one,twice"); i < 0 || strings.Join(words[i+1:], " ") != c.want {
			t.Errorf("%q", words)
		}
	}
	for i := range 10000 {
		in.add(Package{Name: fmt.Sprintf("package-%05d", i)})
	}
	if _, err := dnfWords([]Want{{Name: "one"}}, in); err == nil || !strings.Contains(err.Error(), "this machine has 10004 packages, which are more than dnf can be told to keep") {
		t.Error(err)
	}
}

// What is there as wanted is installed once more only where somebody doubts it.
func TestWhatIsInstalledOnceMore(t *testing.T) {
	t.Parallel()
	in, err := listed(rpmHas())
	must(t, err)
	in.native = "x86_64"
	for _, c := range []struct {
		w           Want
		repeat, not string
	}{
		{Want{Name: "one", Version: "1.0-1"}, "", ""},
		{Want{Name: "one", Version: "1.0-1", Again: true}, "1.0-1", "1"},
		{Want{Name: "one", Again: true}, "1.0-1", "1"},
		{Want{Name: "one", Version: "2.0-1", Again: true}, "", "1"},
		{Want{Name: "nowhere", Again: true}, "", ""},
	} {
		must(t, RPM{}.prepare(t.Context(), &c.w, in, nil))
		if c.w.repeat != c.repeat || c.w.not != c.not {
			t.Errorf("%+v", c.w)
		}
	}
	if at := latest([]string{"4", "19", "x", "9"}); at != 1 {
		t.Error(at)
	}
}

func TestWhyDnfFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ out, want string }{
		{"Error: \n Problem: conflicting requests\n  - nothing provides nowhere needed by one-1.0-1.noarch\n(try to add '--skip-broken')\n", "dnf finds no way to it: nothing provides nowhere needed by one-1.0-1.noarch; dnf install one says more"},
		{"x\nError: \n Problem 1: conflicting requests\n Problem 2: package a-1 requires b\n", "dnf finds no way to it: package a-1 requires b; dnf install one says more"},
		{"Error: \n Problem: The operation would result in removing the following protected packages: two, three\n", "it cannot be there beside two three; remove them yourself, or take it out of the declaration"},
		{"Error: Transaction test error:\n  file /a from install of one-1 conflicts with file from package two-1\n\n", "file /a from install of one-1 conflicts with file from package two-1; remove the other one yourself, or take one out of the declaration"},
		{
			"[MIRROR] one.rpm: Status code: 404 for http://a/one.rpm (IP: 127.0.0.1)\n[MIRROR] one.rpm: Status code: 404 for http://a/one.rpm (IP: 127.0.0.1)\n[FAILED] one.rpm: No more mirrors to try\nError: Error downloading packages:\n  one-1: Cannot download\n",
			"no repository gives what they say that they have: one.rpm: Status code: 404 for http://a/one.rpm (IP: 127.0.0.1); where the repositories of this machine are right, it is for whoever keeps them",
		},
		{"Package one-1.rpm is not signed\nError: GPG check FAILED\n", "its signature is not one that this machine trusts: Package one-1.rpm is not signed; the repository's file below /etc/yum.repos.d says by gpgkey who signs"},
		{"Error: GPG check FAILED\n", "its signature is not one that this machine trusts: GPG check FAILED; the repository's file below /etc/yum.repos.d says by gpgkey who signs"},
		{
			"Errors during downloading metadata for repository 'down':\n  - Curl error (28): Timeout was reached for http://a/ [Failed to connect after 3001 ms: no]\nError: Failed to download metadata for repo 'down': Cannot download repomd.xml\n",
			"a repository does not answer: Curl error (28): Timeout was reached for http://a/ [Failed to connect: no]; repository 'down' gives no metadata; where the repositories of this machine are right, it is for whoever keeps them; skip_if_unavailable=1 has dnf go on without one",
		},
		{"All matches were filtered out by exclude filtering for argument: one\nError: Unable to find a match: one\n", "somebody has excluded it, or this version; dnf versionlock list says what is locked, and excludepkgs in /etc/dnf/dnf.conf and in the files below /etc/yum.repos.d what is left out"},
		{"  Running scriptlet: one-1-1.noarch        1/1\nit hurts\nwarning: %post(one-1-1.noarch) scriptlet failed, exit status 3\n", "its script %post failed, exit status 3: it hurts; it is tried again at the next look"},
		{"  Running scriptlet: one-1-1.noarch        1/1\nerror: %prein(one-0:1-1.noarch) scriptlet failed, signal 9\n", "its script %prein failed, signal 9; it is tried again at the next look"},
		{"  Running scriptlet: one-1-1.noarch        1/1\nerror: %prein(ones-1-1.noarch) scriptlet failed, signal 9\nError: Transaction failed\n", "dnf says: Transaction failed"},
		{"Error: something\nelse\n", "dnf says: something; else"},
		{"Nothing to do.\nComplete!\n", "dnf ended well, and it is not as declared; dnf install one says more"},
		{"No match for argument: one\nError: Unable to find a match: one\n", "no repository of this machine has it; name one that has it in a file below /etc/yum.repos.d"},
	} {
		err := stands(Want{Name: "one"}, system.Done{Out: c.out}, true)
		if err == nil {
			err = (&dnfRun{}).missing(t.Context(), Want{Name: "one"}, system.Done{Out: c.out}, Installed{})
		}
		if err == nil || hinted(err) != c.want {
			t.Errorf("%q\ngot  %v\nwant %s", c.out, err, c.want)
		}
	}
}

func TestWhomDnfNames(t *testing.T) {
	t.Parallel()
	for out, want := range map[string]string{
		"No match for argument: one\nError: Unable to find a match: one\n":                                       "one",
		"No match for argument: two-1:3.0-1\nError: Unable to find a match: two-1:3.0-1\n":                       "two",
		"Error: \n Problem: conflicting requests\n  - nothing provides nowhere needed by one-1.0-1.noarch\n":     "one",
		"two-1.0-1 is said before\nError: \n Problem: package one-lib-1.0-1.noarch requires x\n":                 "",
		"Package one-2.0.rpm is not signed\nError: GPG check FAILED\n":                                           "one",
		"error: %prein(two-0:1.0-1.noarch) scriptlet failed, exit status 3\nError: Transaction failed\n":         "two",
		"Error: Transaction test error:\n  file /a from install of one-1-1 conflicts with file from package x\n": "one",
	} {
		var got []string
		for _, name := range []string{"one", "two:x86_64"} {
			if (&dnfRun{}).blames(name, out) {
				got = append(got, bare(name))
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q names %v", out, got)
		}
	}
}

func TestWhyRPMKeeps(t *testing.T) {
	t.Parallel()
	for out, want := range map[string]string{
		"error: Failed dependencies:\n\tone is needed by (installed) needs-1.0-1.noarch\n\tone = 1 is needed by (installed) b-1-1.noarch\n": "needs-1.0-1.noarch needs one; b-1-1.noarch needs one = 1; it is removed when nothing on the machine needs it",
		"sorry\nerror: %preun(one-1-1.noarch) scriptlet failed, exit status 1\nerror: one-1-1.noarch: erase failed\n":                       "its script %preun failed, exit status 1: sorry; rpm -e one says more",
		"error: it is so\n": "rpm says: it is so; rpm -e one says more",
		"":                  "it is there again",
	} {
		if err := whyStaysRPM("one", system.Done{Out: out}); hinted(err) != want {
			t.Errorf("%q\ngot  %v\nwant %s", out, err, want)
		}
	}
}

func TestTheFilesThatRPMKeeps(t *testing.T) {
	t.Parallel()
	digest := strings.Repeat("ab", 32)
	got := configuration("17\t" + digest + "\t/etc/conf\n1\t" + digest + "\t/etc/with a space\n0\t" + digest + "\t/usr/bin/x\n1\tabc\t/etc/md5\n1\t" + digest + "\t/etc/../up\nx\t" + digest + "\t/etc/x\n")
	if len(got) != 2 || got["/etc/conf"] != digest || got["/etc/with a space"] != digest {
		t.Error(got)
	}
	says := (&dnfRun{}).says("  Upgrading        : conf-2.0-1.noarch    1/2 \nwarning: /etc/conf created as /etc/conf.rpmnew\nwarning: /etc/other saved as /etc/other.rpmsave\n"+
		"  Installing : else-1-1.noarch 2/2\nwarning: /etc/else created as /etc/else.rpmnew\n", []Want{{Name: "conf"}})
	if want := kept("/etc/conf") + "|" + exchanged("/etc/other", "/etc/other.rpmsave"); len(says) != 1 || strings.Join(says["conf"], "|") != want {
		t.Error(says)
	}
}

func TestWhatDnfOffers(t *testing.T) {
	t.Parallel()
	got := offered("Installed Packages\none.noarch 0.9-1 @old\nAvailable Packages\none.noarch    1.0-1    depot\none.x86_64   1.0-1    depot \none.noarch  1:2.0-1   depot\nones.noarch 9 depot\n", "one")
	if strings.Join(got, " ") != "1:2.0-1 1.0-1" {
		t.Error(got)
	}
}

func TestWhatIsKeptSideBySide(t *testing.T) {
	t.Parallel()
	for provides, want := range map[string]bool{"one = 1.0-1\n": false, "kernel-core = 6\ninstallonlypkg(kernel)\n": true, "kernel = 6\n": true, "kernel-headers = 6\n": false, "": false} {
		if isSeveral(provides) != want {
			t.Errorf("%q: %v", provides, !want)
		}
	}
}

// FuzzRPMLists takes any text for what rpm lists: nothing is right that it does not name,
// and nothing that it names twice.
func FuzzRPMLists(f *testing.F) {
	f.Add(rpmHas(), "one")
	f.Add(row("a", "0", "1-1", noarch, 1)+row("a", "0", "1-1", "x86_64", 2)+row("a", "0", "1-1", "i686", 3), "a")
	f.Fuzz(func(t *testing.T, out, name string) {
		in, err := listed(out)
		if err != nil {
			return
		}
		in.native = "x86_64"
		p := in.Of(name)
		if n := strings.Count("\n"+out, "\n"+bare(name)+"\t"); p.There() && n == 0 || p.Right() && n == 0 {
			t.Errorf("%+v of %q", p, out)
		}
	})
}

// FuzzHeld takes any text for what holds packages: a hold changes nothing but that.
func FuzzHeld(f *testing.F) {
	f.Add("one-0:1.0-1.*\n!two\n", "one")
	f.Add("[main]\nexclude=one,\n t*\n", "two")
	f.Add("[[packages]]\nname = \"one\"\n", "one")
	f.Fuzz(func(t *testing.T, text, name string) {
		in := Installed{native: "x86_64", of: map[string][]Package{name: {{Name: name, Architecture: "x86_64", Version: "1.0-1", Status: right}}}}
		for _, held := range [][]hold{lockedIn(text), lockedInTable(text), excludedIn(text)} {
			p := in.with(held).Of(bare(name))
			if p.Held() == p.Right() && name == bare(name) {
				t.Errorf("%+v", p)
			}
		}
	})
}

// FuzzDnfSays takes any text for what dnf and rpm say, and always has an answer.
func FuzzDnfSays(f *testing.F) {
	f.Add("Error: \n Problem: conflicting requests\n  - nothing provides nowhere needed by one-1.0-1.noarch\n", "one")
	f.Add("  Upgrading : one-2-1.noarch 1/2\nwarning: /etc/conf created as /etc/conf.rpmnew\nwarning: %post(one-2-1.noarch) scriptlet failed, exit status 3\n", "one:i686")
	f.Add("[Failed to connect after 3 ms: no after 5 ms]\n- Curl error (7)\n[MIRROR] one after 12 ms\n", "one")
	f.Fuzz(func(t *testing.T, out, name string) {
		r, w, done := &dnfRun{}, Want{Name: name}, system.Done{Out: out}
		if err := stands(w, done, false); err == nil && !r.stale(done) || err != nil && err.Error() == "" {
			t.Error("nothing stands against it")
		}
		if err := whyStaysRPM(name, done); err == nil {
			t.Error("nothing stands against its removal")
		}
		r.blames(name, out)
		r.halved(w, done)
		for of := range r.says(out, []Want{w}) {
			if of != name {
				t.Errorf("it says something of %q", of)
			}
		}
		offered(out, name)
		lockedLines(out)
		for file := range configuration(out) {
			if !filepath.IsAbs(file) || filepath.Clean(file) != file {
				t.Errorf("%q is not the path of a file", file)
			}
		}
	})
}
