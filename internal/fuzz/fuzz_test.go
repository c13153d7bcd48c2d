package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestEveryTargetIsFound(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{
		"a/a_test.go":            "package a\n\nfunc FuzzOne(f *testing.F) {}\n\nfunc FuzzTwo(f *testing.F) {}\n\nfunc helpFuzz() {}\n\nconst text = `\nfunc FuzzText(f *testing.F) {}\n`\n",
		"a/b/b_test.go":          "package b\n\nfunc FuzzThree(f *testing.F) {}\n",
		"a/testdata/x_test.go":   "package x\n\nfunc FuzzNone(f *testing.F) {}\n",
		".hidden/x_test.go":      "package x\n\nfunc FuzzNone(f *testing.F) {}\n",
		"a/not_a_test_at_all.go": "package a\n\nfunc FuzzNone(f int) {}\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for pattern, want := range map[string][]string{
		".":         {"FuzzOne", "FuzzThree", "FuzzTwo"},
		"a FuzzT":   {"FuzzTwo"},
		"FuzzThree": {"FuzzThree"},
		"nothing":   nil,
	} {
		found, err := list(root, regexp.MustCompile(pattern))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range found {
			got = append(got, f.name)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%q finds %q, want %q", pattern, got, want)
		}
	}
}

func TestWhatATargetHasHadIsOfItsCode(t *testing.T) {
	t.Parallel()
	note := filepath.Join(t.TempDir(), "note")
	if had, err := recall(note, "code"); err != nil || had != 0 {
		t.Errorf("of nothing: %s, %v", had, err)
	}
	if err := os.WriteFile(note, []byte("code 1m30s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for code, want := range map[string]time.Duration{"code": 90 * time.Second, "other": 0} {
		if had, err := recall(note, code); err != nil || had != want {
			t.Errorf("%s has had %s, %v", code, had, err)
		}
	}
}

// What a target has had is kept where another test is written beside it, and is
// not where a file changes that its package is made of.
func TestTheCodeOfATargetIsWhatItsPackageIsMadeOf(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(root)
	write("go.mod", "module example.com/fuzzed\n\ngo 1.26\n")
	write("a/a.go", "package a\n\nimport (\n\t_ \"embed\"\n\t_ \"example.com/fuzzed/b\"\n)\n\n//go:embed data\nvar data string\n")
	write("a/data", "data")
	write("a/a_test.go", "package a\n\nimport \"testing\"\n\nfunc FuzzOne(f *testing.F) {}\n")
	write("b/b.go", "package b\n")
	was := ""
	for _, step := range []struct {
		file, text string
		other      bool
	}{
		{"a/a.go", "package a\n\nimport (\n\t_ \"embed\"\n\t_ \"example.com/fuzzed/b\"\n)\n\n//go:embed data\nvar Data string\n", true},
		{"a/data", "more", true},
		{"b/b.go", "package b // of another kind\n", true},
		{"a/b_test.go", "package a\n", false},
		{"c/c.go", "package c\n", false},
		{"a/a_test.go", "package a\n\nimport \"testing\"\n\nfunc FuzzOne(f *testing.F) { f.Add(1) }\n", true},
	} {
		targets, err := list(".", regexp.MustCompile("."))
		if err != nil || len(targets) != 1 {
			t.Fatalf("%v, %v", targets, err)
		}
		if was, err = codeOf(t.Context(), targets[0]); err != nil {
			t.Fatal(err)
		}
		write(step.file, step.text)
		is, err := codeOf(t.Context(), targets[0])
		if err != nil || (is != was) != step.other {
			t.Errorf("%s: another code %t, %v", step.file, is != was, err)
		}
	}
}

// A target has just the CPU time that is left to it, of its worker as well, and what
// it finds is its failure.
func TestATargetHasItsTime(t *testing.T) {
	root, state := t.TempDir(), t.TempDir()
	t.Chdir(root)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/fuzzed\n\ngo 1.26\n")
	write("a_test.go", `package fuzzed

import "testing"

func FuzzSound(f *testing.F) { f.Fuzz(func(*testing.T, []byte) {}) }

func FuzzRotten(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 3 {
			t.Error("rotten")
		}
	})
}
`)
	for name, says := range map[string]string{"FuzzSound": "", "FuzzRotten": "rotten"} {
		r, err := newRunner(t.Context(), 2*time.Second, state)
		if err != nil {
			t.Fatal(err)
		}
		targets, err := list(".", regexp.MustCompile(name))
		if err != nil || len(targets) != 1 {
			t.Fatalf("%v, %v", targets, err)
		}
		err = r.target(t.Context(), targets[0])
		if (err != nil) != (says != "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", name, err)
		}
		code, err := codeOf(t.Context(), targets[0])
		if err != nil {
			t.Fatal(err)
		}
		had, err := recall(filepath.Join(state, "._"+name+".cpu"), code)
		if err != nil || (says == "") != (had >= 2*time.Second) || had > time.Minute {
			t.Errorf("%s has had %s, %v", name, had, err)
		}
	}
}

// What a target has had is in the ledger from ten minutes on, by its code; another
// code takes its place, and less never does.
func TestWhatHadLongIsInTheLedger(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "long.txt")
	one, two := target{folder: "b", name: "FuzzOne"}, target{folder: "a", name: "FuzzTwo"}
	for _, step := range []struct {
		of   target
		code string
		cpu  time.Duration
		want string
	}{
		{one, "x", 9 * time.Minute, ""},
		{one, "x", 10*time.Minute + 300*time.Millisecond, "b FuzzOne x 10m0s\n"},
		{two, "y", time.Hour, "a FuzzTwo y 1h0m0s\nb FuzzOne x 10m0s\n"},
		{two, "y", 11 * time.Minute, "a FuzzTwo y 1h0m0s\nb FuzzOne x 10m0s\n"},
		{two, "z", time.Minute, "a FuzzTwo y 1h0m0s\nb FuzzOne x 10m0s\n"},
		{two, "z", 11 * time.Minute, "a FuzzTwo z 11m0s\nb FuzzOne x 10m0s\n"},
	} {
		l, err := openLedger(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.note(step.of, step.code, step.cpu); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(file); string(text) != step.want || step.want != "" && err != nil {
			t.Errorf("after %v: %q, %v", step, text, err)
		}
	}
	l, err := openLedger(file)
	if err != nil || l.of(one, "x") != 10*time.Minute || l.of(one, "y") != 0 || l.of(two, "z") != 11*time.Minute {
		t.Errorf("read again: %v, %v", l, err)
	}
	for _, wrong := range []string{"a FuzzTwo y\n", "a FuzzTwo y long\n"} {
		if err := os.WriteFile(file, []byte(wrong), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := openLedger(file); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}
