package git

import (
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"noxmesh/internal/fault"
)

func TestCheckRef(t *testing.T) {
	t.Parallel()
	for _, r := range []string{
		"refs/heads/main", "refs/heads/a/b", "refs/tags/v1.2.3", "refs/heads/ä", "refs/heads/a@b", "refs/heads/refs/heads/x",
		strings.Repeat("a", 40), strings.Repeat("0", 64),
	} {
		if err := CheckRef(r); err != nil {
			t.Errorf("%s: %v", r, err)
		}
	}
	for _, r := range []string{
		"", "main", "HEAD", "refs/heads/", "refs/heads", "refs/remotes/o/main", "refs/notes/x", "refs/pull/1/head", "--output=x", "-x", "refs/heads/-x",
		"refs/heads/--output=x", "refs/heads/a/-b", "+refs/heads/main", "refs/heads/main:refs/heads/x", "refs/heads/*", "refs/heads/a..b", "refs/heads/a~1",
		"refs/heads/a^{}", "refs/heads/a?", "refs/heads/a[b", "refs/heads/a b", "refs/heads/a\\b", "refs/heads/a\x00", "refs/heads/a\n", "refs/heads/a\r",
		"refs/heads/a\x7f", "refs/heads/@", "refs/heads/@{u}", "refs/heads/.a", "refs/heads/a.", "refs/heads/a.lock", "refs/heads/a.lock/b", "refs/heads//a",
		"refs/heads/a/", "refs/heads/\u202ea", "refs/heads/\xff", "refs/heads/" + strings.Repeat("a", 300), strings.Repeat("A", 40), strings.Repeat("a", 39), strings.Repeat("a", 41),
		"refs/heads/a/../../x", "refs/heads/\u200b",
	} {
		if err := CheckRef(r); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q is taken: %v", r, err)
		}
	}
}

// TestCheckRefIsNoLaxerThanGit: what is taken here, git's own check takes too.
func TestCheckRefIsNoLaxerThanGit(t *testing.T) {
	t.Parallel()
	name := rapid.StringOfN(rapid.RuneFrom([]rune("ab./-@{}~^:?*[\\ _ä\x01\x7f,=+lock")), 1, 12, -1)
	taken := 0
	for n := range 100 { // the same ones each time
		if CheckRef("refs/heads/"+name.Example(n)) == nil {
			taken++
		}
	}
	if taken == 0 {
		t.Fatal("nothing is taken: the test shows nothing")
	}
	rapid.Check(t, func(rt *rapid.T) {
		ref := "refs/heads/" + name.Draw(rt, "name")
		if CheckRef(ref) != nil {
			return
		}
		if err := exec.Command("git", "check-ref-format", ref).Run(); err != nil {
			rt.Fatalf("git refuses %q", ref)
		}
	})
}

func TestCheckFolder(t *testing.T) {
	t.Parallel()
	for _, p := range []string{"", "a", "a/b", "a b", "..a", "a/...", "ä", ".github", "a.git"} {
		if err := CheckFolder(p); err != nil {
			t.Errorf("%q: %v", p, err)
		}
	}
	for _, p := range []string{"/", "/a", "..", "../a", "a/..", "a/../b", "a/", "a//b", ".", "./a", "a\x00", "a\n", ".git", "a/.GIT/b", "a\u202e", "a\\b", "\xff", strings.Repeat("a/", 3000) + "a"} {
		if err := CheckFolder(p); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q is taken: %v", p, err)
		}
	}
}
