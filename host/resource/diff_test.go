package resource

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestUnified(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ is, becomes, want string }{
		{"", "", ""},
		{"a\n", "a\n", ""},
		{"", "a\nb\n", "--- x\n+++ y\n@@ -0,0 +1,2 @@\n+a\n+b\n"},
		{"a\n", "", "--- x\n+++ y\n@@ -1 +0,0 @@\n-a\n"},
		{"a", "a\n", "--- x\n+++ y\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		{
			"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n11\n12\n13\n",
			"--- x\n+++ y\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n@@ -10,3 +10,4 @@\n 10\n 11\n 12\n+13\n",
		},
	} {
		if got := unified("x", c.is, "y", c.becomes); got != c.want {
			t.Errorf("%q to %q:\n%s", c.is, c.becomes, got)
		}
	}
}

// Whatever two texts are, patch makes the one of the other by what is said.
func TestPatchTakesWhatIsSaid(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("patch"); err != nil {
		t.Skip("patch is not installed: the same is asked of the edits themselves")
	}
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		is, becomes := someText(t, "is"), someText(t, "becomes")
		said := unified("x", is, "x", becomes)
		if (said == "") != (is == becomes) {
			t.Fatalf("%q to %q: %q", is, becomes, said)
		}
		if said == "" || strings.Contains(said, "@@ -0,0 ") {
			return
		}
		file := filepath.Join(dir, "x")
		if err := os.WriteFile(file, []byte(is), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("patch", "-s", "--no-backup-if-mismatch", "-F0", file)
		cmd.Stdin = strings.NewReader(said)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v %s\n%s", err, out, said)
		}
		got, err := os.ReadFile(file)
		if os.IsNotExist(err) && becomes == "" {
			err = nil
		}
		if err != nil || string(got) != becomes {
			t.Fatalf("%q and not %q, %v\n%s", got, becomes, err, said)
		}
	})
}

func someText(t *rapid.T, label string) string {
	lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "\n"}), 0, 30).Draw(t, label)
	return strings.Join(lines, "") + rapid.SampledFrom([]string{"", "end"}).Draw(t, label+" ends")
}

// Of the edits alone: what is not new is the one text, and what is not gone the other.
func TestEdits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		is, becomes := someText(t, "is"), someText(t, "becomes")
		var was, now strings.Builder
		for _, e := range edits(strings.SplitAfter(is, "\n"), strings.SplitAfter(becomes, "\n")) {
			if e.kind != '+' {
				was.WriteString(e.line)
			}
			if e.kind != '-' {
				now.WriteString(e.line)
			}
		}
		if was.String() != is || now.String() != becomes {
			t.Fatalf("%q to %q, and not %q to %q", was.String(), now.String(), is, becomes)
		}
	})
}
