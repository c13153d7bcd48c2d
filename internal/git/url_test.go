package git

import (
	"strings"
	"testing"

	"noxmesh/internal/fault"
)

func allowed() Allow {
	return Allow{Hosts: []string{"forge.lan", "other.lan:3000"}, Folders: []string{"/srv/git", "relative"}}
}

func TestCheckURLTakesWhatIsARepository(t *testing.T) {
	t.Parallel()
	for _, u := range []string{
		"https://example.org/o/r.git", "https://example.org:8443/o/r", "https://[2001:db8::1]:3000/o/r.git", "https://10.0.0.1/r",
		"https://example.org/%7Ejo/r%20x.git", "https://my_forge/o/r", "https://example.org/ö/r",
		"ssh://git@example.org/o/r.git", "ssh://example.org:2222/o/r.git", "ssh://git@example.org:2222/~/r.git",
		"git@example.org:o/r.git", "git@example.org:/srv/r.git", "jo.smith-1@h:r",
		"http://127.0.0.1:3000/o/r.git", "http://localhost/o/r", "http://[::1]:80/o/r", "http://127.9.9.9/x",
		"http://forge.lan/o/r", "http://forge.lan:3000/o/r", "http://other.lan:3000/o/r",
		"file:///srv/git/r.git", "file:///srv/git", "file:///srv/git/",
	} {
		if err := CheckURL(u, allowed()); err != nil {
			t.Errorf("%s: %v", u, err)
		}
	}
}

func TestCheckURLRefusesEverythingElse(t *testing.T) {
	t.Parallel()
	for _, u := range []string{
		"", "/srv/git/r.git", "./r", "../r", "r.git", "example.org:o/r", "C:/r",
		"--upload-pack=touch /tmp/x", "-oProxyCommand=touch /tmp/x", "-u", "--",
		"ext::sh -c touch% /tmp/x", "ext::sh", "ext::x@y:z", "fd::17", "ext://x@y/z",
		"git://example.org/r", "git://[::1]/r", "ftp://example.org/r", "rsync://example.org/r", "HTTPS2://example.org/r",
		"https+ext://example.org/r", "http+unix://x/r", "ssh+git://git@example.org/r", "git+ssh://git@example.org/r", "transport::https://x/y",
		"ssh://-oProxyCommand=x/r", "ssh://git@-oProxyCommand=x/r", "ssh://-x@example.org/r", "ssh://%2doProxyCommand=x/r",
		"git@-oProxyCommand=x:r", "-x@example.org:r", "git@example.org:-r", "git@example.org:", "@example.org:r", "git@:r", "git@example.org::r",
		"git@exa mple.org:r", "git@[::1]:r", "a@b@c:r", "ssh://git@exa$(id)mple.org/r", "ssh://git@example.org`id`/r",
		"https://user:secret@example.org/r", "https://token@example.org/r", "ssh://git:secret@example.org/r", "http://x@127.0.0.1/r",
		"https://", "https:///r", "https://example.org", "https://example.org/", "ssh://git@/r", "https://:443/r", "https://example.org:/r",
		"https://example.org:0/r", "https://example.org:65536/r", "https://example.org:x/r", "https://exam%0aple.org/r",
		"https://example.org/r?x=y", "https://example.org/r?", "https://example.org/r#x", "https://example.org/r#",
		"https://example.org/../r", "https://example.org/%2e%2e/r", "git@example.org:../r",
		"https://example.org/r\x00", "https://example.org/r\n", "https://example.org/r\r\nHost: x", "https://example.org/a b",
		"https://example.org/%0a", "https://example.org/%00", "https://example.org/%0d%0aHost:x", "https://example.org/%zz",
		"https://example.org/\u202egro", "https://example.org/\u200b", "https://example.org/\ufeff", "https://example.org/\x1b[2J", "https://example.org\\@x/r",
		"https://exämple.org/r", "https://example.org/\xff", "https://-example.org/r", "https://example.org./r", "https:example.org/r",
		"http://example.org/r", "http://other.lan/r", "http://forge.lan.evil/r", "http://127.0.0.1.evil/r", "http://10.0.0.1/r", "http://0.0.0.0/r",
		"file:///etc", "file:///srv/gitother", "file:///srv/git/../x", "file:///srv/git/%2e%2e/x", "file://host/srv/git/r", "file:///", "file://srv/git",
		"file:///srv//git/r", "file:relative/r", "file:///relative/r",
		"https://example.org/" + strings.Repeat("x", 3000),
	} {
		err := CheckURL(u, allowed())
		if fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q is taken: %v", u, err)
			continue
		}
		if s := err.Error() + fault.HintOf(err); strings.ContainsAny(s, "\n\r\x00\x1b\u202e\u200b") || strings.Contains(s, "secret") || strings.Contains(s, "token@") {
			t.Errorf("%q: the error repeats what must not be shown: %q", u, s)
		}
	}
	if CheckURL("http://127.0.0.1/r", Allow{}) != nil {
		t.Error("loopback needs no leave")
	}
	if CheckURL("file:///srv/git/r", Allow{}) == nil {
		t.Error("a folder is read without leave")
	}
}

func TestURLChoosesTheOneProtocol(t *testing.T) {
	t.Parallel()
	for u, want := range map[string]string{
		"https://example.org/r": "https", "git@example.org:r": "ssh", "ssh://example.org/r": "ssh",
		"http://127.0.0.1/r": "http", "file:///srv/git/r": "file",
	} {
		if got, err := parseURL(u, allowed()); got != want || err != nil {
			t.Errorf("%s: %q %v", u, got, err)
		}
	}
}
