package git

import (
	"strings"
	"testing"
)

func TestKeyIsOneForAllWaysToWriteARepository(t *testing.T) {
	t.Parallel()
	for _, same := range [][]string{
		{
			"https://git.example.org/web/site.git", "https://git.example.org/web/site", "https://git.example.org/web/site/", "https://Git.Example.ORG/web/site",
			"https://git.example.org:443/web/site.git", "https://git.example.org/web/site.git/", "http://git.example.org/web/site", "http://git.example.org:80/web/site",
			"git@git.example.org:web/site.git", "git@git.example.org:/web/site", "ssh://git@git.example.org/web/site.git", "ssh://git.example.org:22/web/site", "other@GIT.example.org:web/site",
		},
		{"http://127.0.0.1:3000/web/site.git", "http://127.0.0.1:3000/web/site", "http://127.0.0.1:3000/web/site/", "http://127.0.0.1:3000/web//site"},
		{"https://[2001:DB8::1]:3000/o/r.git", "https://[2001:db8::1]:3000/o/r"},
		{"https://[2001:db8::1]/o/r.git", "ssh://git@[2001:db8::1]/o/r"},
		{"ssh://git@git.example.org:2222/web/site.git", "ssh://git@git.example.org:2222/web/site/"},
		{"file:///srv/git/site.git", "file:///srv/git/site", "file:///srv/git/site/.git"},
		{"https://git.example.org/Web/Site"},
	} {
		for _, u := range same {
			if err := CheckURL(u, Allow{Hosts: []string{"git.example.org"}, Folders: []string{"/srv/git"}}); err != nil {
				t.Errorf("%s: %v", u, err)
			}
			if Key(u) != Key(same[0]) {
				t.Errorf("%s is %q, and %s is %q", u, Key(u), same[0], Key(same[0]))
			}
		}
	}
	keys := map[string]string{}
	for _, u := range []string{
		"https://git.example.org/web/site", "https://git.example.org:3000/web/site", "https://git.example.org/Web/Site", "https://git.example.org/web/site2",
		"file:///git.example.org/web/site", "https://other.example.org/web/site",
	} {
		if was, twice := keys[Key(u)]; twice {
			t.Errorf("%s and %s are both %q", u, was, Key(u))
		}
		keys[Key(u)] = u
	}
	if !Same("git@h.org:o/r.git", "ssh://git@h.org/o/r") || Same("git@h.org:o/r.git", "https://h.org/o/r") {
		t.Error("ssh is one way to read, and https another")
	}
}

func TestNoSecretOfAnAddressIsRepeated(t *testing.T) {
	t.Parallel()
	for _, u := range []string{
		"https://user:s3cret@example.org/r", "https://s3cret@example.org/r", "https://user:s3/cret@example.org/r", "HTTPS://user:s3cret@example.org/r",
		"user:s3cret@example.org/r", "user:s3cret@example.org:r", "ssh://git:s3cret@example.org/r", "https://example.org/r?token=s3cret", "https://example.org/r#s3cret",
		"https://user:s3cret@exa mple.org/r", "ftp://user:s3cret@example.org/r", "https://user:s3cret@@example.org/r", "https://user:s3cret@example.org:x/r", "user:s3/cret@example.org/r",
		"https://user:%73s3cret@example.org/../r",
	} {
		err := CheckURL(u, Allow{})
		if err == nil {
			t.Errorf("%s is taken", u)
			continue
		}
		if s := err.Error(); strings.Contains(s, "s3cret") || strings.Contains(s, "s3/cret") || strings.Contains(s, "s3") {
			t.Errorf("%s: %s", u, s)
		}
	}
	for _, u := range []string{"git@example.org:o/r.git", "ssh://git@example.org/o/r", "https://example.org/@scope/r", "https://example.org:3000/o/r"} {
		if redact(u) != u {
			t.Errorf("%s is shown as %s", u, redact(u))
		}
	}
}

// FuzzKey: writing it with a slash or .git behind changes nothing, and no key has a user in it.
func FuzzKey(f *testing.F) {
	for _, s := range []string{"https://example.org/r", "git@h:r", "ssh://a@h:1/r", "file:///srv/git/r", "http://127.0.0.1:3000/r", "https://[::1]/r"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if CheckURL(s, allowed()) != nil {
			return
		}
		k := Key(s)
		if k == "" || Key(s+"/") != k {
			t.Fatalf("%q is %q, and with a slash %q", s, k, Key(s+"/"))
		}
	})
}
