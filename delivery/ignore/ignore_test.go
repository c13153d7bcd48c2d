package ignore_test

import (
	"strings"
	"testing"

	"noxmesh/delivery/ignore"
	"noxmesh/internal/fault"
)

// What Docker's reference says of .dockerignore, sentence by sentence.
func TestListsAreReadAsTheReferenceHasThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, out, in string }{
		{"# comment\n*/temp*\n*/*/temp*\ntemp?\n", "somedir/temporary.txt somedir/temp somedir/subdir/temporary.txt tempa tempb", "temp temporary somedir/subdir/other/temporary a"},
		{"**/*.go", "a.go a/b.go a/b/c.go", "a.goo go"},
		{"*.md\n!README.md", "a.md", "README.md docs/a.md"},
		{"*.md\n!README*.md\nREADME-secret.md", "a.md README-secret.md", "README.md README-x.md"},
		{"*.md\nREADME-secret.md\n!README*.md", "a.md", "README.md README-secret.md"},
		{"*\n!Dockerfile\n!src/**", "a b/c Dockerfil", "Dockerfile src/a src/b/c"},
		{"/foo/bar\nbaz/", "foo/bar foo/bar/x baz baz/y", "x/foo/bar x/baz foo"},
		{"./a/../b\n  c  \n\n #no", "b c #no b/x", "a"},
		{"node_modules", "node_modules node_modules/a/b", "web/node_modules"},
		{"**/node_modules", "node_modules web/node_modules/a", "node_modulesx"},
		{"docs/**", "docs/ docs/a docs/a/b", "docs doc"},
		{"a/**/b", "a/b a/x/b a/x/y/b a/x/b/c", "a/bb b"},
		{"docs\n!docs/keep\n!docs/in/**", "docs docs/a docs/in", "docs/keep docs/keep/b docs/in/a"},
		{"\ufeffa\r\nb\r\n", "a b", "c"},
		{"a[bc]\\*", "ab* ac*", "ab abx ad*"},
		{"! x \nx", "x", "y"},
		{"a.b+(c)", "a.b+(c)", "aXb+(c)"},
		{"*", "a a/b .git", ""},
		{"", "", "a .git"},
	} {
		l, err := ignore.Read(".dockerignore", []byte(c.text))
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		for _, file := range strings.Fields(c.out) {
			if !l.Leaves(file) {
				t.Errorf("%q: %q is there", c.text, file)
			}
		}
		for _, file := range strings.Fields(c.in) {
			if l.Leaves(file) {
				t.Errorf("%q: %q is left out", c.text, file)
			}
		}
		if l.Back() != strings.Contains(c.text, "!") {
			t.Errorf("%q takes back: %t", c.text, l.Back())
		}
	}
}

func TestALineThatIsNoPatternIsNamed(t *testing.T) {
	t.Parallel()
	for text, why := range map[string]string{
		"a\n[b\n": `x/.dockerignore:2: "[b" is no pattern`, "a\n!\n": "x/.dockerignore:2: ! takes back nothing", `a\`: "x/.dockerignore:1:", "\xff": "UTF-8",
		"\n" + strings.Repeat("a", 5000): "x/.dockerignore:2: a pattern of more", strings.Repeat("a\n", 10001): "x/.dockerignore:10001: more than", strings.Repeat("a", ignore.Limit+1): "want UTF-8 of at most",
	} {
		if _, err := ignore.Read("x/.dockerignore", []byte(text)); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), why) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

// FuzzRead: a comment says
// nothing, and what is below what is left out is too where nothing is taken back.
func FuzzRead(f *testing.F) {
	seeds := []string{"*/temp*\n!a/**\n", "**.go\nx**\n\\é[a-b]\n", "#\n!\n", "/!a\n", "[", "a/../..\n!../b"}
	if len(seeds) != 6 {
		f.Fatal("a seed is missing")
	}
	for _, s := range seeds {
		f.Add(s, "a/b", "c")
	}
	f.Fuzz(func(t *testing.T, text, dir, name string) {
		l, err := ignore.Read("f", []byte(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f:") {
				t.Errorf("no line: %v", err)
			}
			return
		}
		if commented, err := ignore.Read("f", []byte("# "+name+"\n"+text)); err == nil && !strings.ContainsAny(name, "\n") && !strings.HasPrefix(text, "\ufeff") && commented.Leaves(dir) != l.Leaves(dir) {
			t.Errorf("a comment says something of %q", dir)
		}
		if !l.Back() && l.Leaves(dir) && !l.Leaves(dir+"/"+name) {
			t.Errorf("%q is left out, and %q below it is not", dir, name)
		}
	})
}
