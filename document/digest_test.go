package document_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

func TestDigest(t *testing.T) {
	t.Parallel()
	const empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	d := document.Sum(nil)
	if d != empty || !d.Valid() || d.Hex() != empty[7:] || d.Short() != "e3b0c44298fc" {
		t.Errorf("%s, %q, %q", d, d.Hex(), d.Short())
	}
	for _, s := range []string{"", "sha256:", empty[7:], empty + "0", empty[:70], strings.ToUpper(empty), "sha512:" + empty[7:], " " + empty, empty + "\n", strings.Replace(empty, "e", "g", 1)} {
		if got, err := document.ParseDigest(s); fault.KindOf(err) != fault.Invalid || got != "" {
			t.Errorf("%q: %q, %v", s, got, err)
		}
		if document.Digest(s).Valid() || document.Digest(s).Hex() != "" {
			t.Errorf("%q is valid", s)
		}
	}
	if got, err := document.ParseDigest(empty); err != nil || got != d {
		t.Errorf("%q, %v", got, err)
	}
}

func TestPathsOfAMachineAndOfAFolder(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 5000)
	for in, want := range map[string]string{
		"/a": "", "/a/b.c/ü": "", "": "is not absolute", "a": "is not absolute", "/": "is the root", "//": "is not clean", "/a/": "is not clean",
		"/a/../b": "is not clean", "/./a": "is not clean", "/..": "is not clean", "/a\x00": "holds a control character", "/a\n": "holds a control character",
		"/a\xff": "is not UTF-8", "/" + long: "is too long",
	} {
		if got := document.BadPath(in); got != want {
			t.Errorf("path %.20q: %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"a": "", "a/b": "", ".": "", "..a": "", "": "is empty", "/a": "is absolute", "..": "leads out of the folder", "../a": "leads out of the folder",
		"a/../../b": "is not clean", "./a": "is not clean", "a/": "is not clean", "a//b": "is not clean", "a\x7f": "holds a control character", long: "is too long",
	} {
		if got := document.BadRelative(in); got != want {
			t.Errorf("relative %.20q: %q, want %q", in, got, want)
		}
	}
}

// However a clean relative path is put below a folder, it stays there.
func TestRelativeStaysBelow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.StringMatching(`[a./]{0,9}`).Draw(t, "path")
		if document.BadRelative(p) != "" || p == "." {
			return
		}
		if document.BadPath("/folder/"+p) != "" {
			t.Fatalf("%q leads elsewhere", p)
		}
	})
}

func TestARepositoryIsWhatEveryRegistryTakes(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[a-z0-9]+([._-][a-z0-9]+)*(/[a-z0-9]+([._-][a-z0-9]+)*)*$`)
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.StringMatching(`[ab9./_-]{0,9}`), rapid.StringMatching(`[a-z/-]{250,260}`), rapid.String()).Draw(t, "name")
		if got, want := document.IsRepository(name), len(name) <= 255 && form.MatchString(name); got != want {
			t.Fatalf("%q: %v, want %v", name, got, want)
		}
	})
}

func TestAnObjectIDIsWhatGitWritesInFull(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	whole := strings.Repeat("0a", 32)
	for _, id := range []string{
		"", whole[:39], whole[:40], whole[:41], whole[:63], whole, whole + "0", whole[:40] + "\n", strings.ToUpper(whole), whole[:39] + "g", "g" + whole[:39],
		whole[:20] + "g" + whole[:19], whole[:20] + "\x00" + whole[:19], whole[:38] + "é", strings.Repeat("é", 20), strings.Repeat("é", 40),
	} {
		if got, want := document.IsObjectID(id), form.MatchString(id); got != want {
			t.Errorf("%q: %v, want %v", id, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.OneOf(rapid.StringMatching(`[0-9a-f]{39,41}`), rapid.StringMatching(`[0-9a-f]{63,65}`), rapid.StringMatching(`[0-9a-g]{40}`), rapid.String()).Draw(t, "id")
		if got, want := document.IsObjectID(id), form.MatchString(id); got != want {
			t.Fatalf("%q: %v, want %v", id, got, want)
		}
	})
}
