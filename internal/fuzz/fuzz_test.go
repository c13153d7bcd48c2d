package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"
)

func TestEveryTargetIsFound(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{
		"a/a_test.go":            "package a\n\nfunc FuzzOne(f *testing.F) {}\n\nfunc FuzzTwo(f *testing.F) {}\n\nfunc helpFuzz() {}\n",
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

func TestOnlyTheTimeBeingUpIsNoFailure(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]bool{
		"fuzz: elapsed: 4s\n--- FAIL: FuzzA (4.08s)\n    context deadline exceeded\nFAIL\n":                                                         true,
		"--- FAIL: FuzzA (1s)\n    --- FAIL: FuzzA (0s)\n        a_test.go:1: no\n    Failing input written to testdata/fuzz/FuzzA/1\nFAIL\n":       false,
		"--- FAIL: FuzzA (1s)\n    --- FAIL: FuzzA (0s)\n    context deadline exceeded\nFAIL\n":                                                     false,
		"--- FAIL: FuzzA (1s)\n    fuzzing process hung or terminated unexpectedly: exit status 2\n    Failing input written to testdata/x\nFAIL\n": false,
		"panic: no\n": false,
	} {
		if ended(said) != want {
			t.Errorf("%q is the end: %t", said, !want)
		}
	}
}
