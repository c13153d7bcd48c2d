package archtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTreeIsWhatARCHITECTURESays(t *testing.T) {
	t.Parallel()
	found, err := Check("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		t.Error(f)
	}
}

// sound is a small tree in which everything is as it should be.
func sound() map[string]string {
	return map[string]string{
		"go.mod": "module small\n\ngo 1.26.0\n\nrequire (\n\texample.com/lib v1.0.0\n\texample.com/lib/deep v1.0.0 // indirect\n\tgolang.org/x/sync v0.1.0\n)\n",
		"ARCHITECTURE.md": "# How\n\n## Nouns\n\n| path | what it is | may import | stands on |\n|---|---|---|---|\n" +
			"| `.` | the nouns | – | – |\n" +
			"## Rules\n\n| `rule` | what is decided (pure) | `.` `internal/fault` | – |\n" +
			"## Programs\n\n| `cmd/prog` | does it | `internal/rim` `rule` | – |\n" +
			"## Rim\n\n| `internal/effect` | the hook | – | – |\n| `internal/fault` | kinds | – | – |\n| `internal/rim` | the outside. | `internal/effect` | `example.com/lib` `os/exec` |\n" +
			"## Afterwards\n\n| `no row` | at all |\n",
		"doc.go":                    "// Package small is the nouns.\npackage small\n",
		"rule/doc.go":               "// Package rule is what is decided (pure).\n//\n// More. Of it.\npackage rule\n",
		"rule/rule.go":              "package rule\n\nimport (\n\t\"time\"\n\n\t\"small\"\n\t\"small/internal/fault\"\n)\n\nvar _ = small.X\nvar _ = fault.X\nvar _ time.Time\n",
		"rule/rule_test.go":         "package rule\n\nimport \"os\"\nimport \"example.com/lib\"\n\nfunc TestRule(t *testing.T) { os.Exit(lib.X); time.Now() }\n",
		"cmd/prog/main.go":          "// Command prog does it.\npackage main\n\nimport (\n\t\"small/internal/rim\"\n\t\"small/rule\"\n)\n",
		"internal/effect/effect.go": "// Package effect is the hook.\npackage effect\n\nfunc Do(n string, f func() error) error { return f() }\n",
		"internal/fault/fault.go":   "// Package fault is kinds.\npackage fault\n",
		"internal/rim/rim.go": "// Package rim is the outside.. It has a law.\npackage rim\n\nimport (\n\t\"os/exec\"\n\n\t\"example.com/lib/sub\"\n\t\"golang.org/x/sync/errgroup\"\n\n\t\"small/internal/effect\"\n)\n\n" +
			"func f() { effect.Do(\"rim.file.write\", nil); effect.Do(\"rim.file.sync\", nil) }\n",
		"testdata/bad/bad.go":      "package nonsense (\n",
		"tools/go.mod":             "module small/tools\n",
		"tools/tools.go":           "package tools\nimport \"example.com/lib\"\n",
		".hidden/x.go":             "package x (\n",
		"docs/decisions/0001-a.md": "# A\n\nBecause.\n\nChecked by: `TestRule`.\n",
		"docs/decisions/README.md": "Not a record.\n",
	}
}

// small writes a tree, and returns its root.
func small(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// read reads the tree below a root.
func read(t *testing.T, root string) *Tree {
	t.Helper()
	tree, err := Read(root)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// plant writes a tree and returns what is found in it.
func plant(t *testing.T, files map[string]string) []string {
	t.Helper()
	found, err := Check(small(t, files))
	if err != nil {
		t.Fatal(err)
	}
	var says []string
	for _, f := range found {
		says = append(says, f.String())
	}
	return says
}

func TestSoundTreeHasNoFindings(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff([]string(nil), plant(t, sound())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPlantedViolationsAreFound(t *testing.T) {
	t.Parallel()
	architecture := func(old, replacement string) func(map[string]string) {
		return func(files map[string]string) {
			text := files["ARCHITECTURE.md"]
			if !strings.Contains(text, old) {
				panic(fmt.Sprintf("%q is not in the planted table", old))
			}
			files["ARCHITECTURE.md"] = strings.Replace(text, old, replacement, 1)
		}
	}
	file := func(name, text string) func(map[string]string) {
		return func(files map[string]string) { files[name] = text }
	}
	for name, c := range map[string]struct {
		plant func(map[string]string)
		want  []string
	}{
		"an import that is not listed": {
			file("rule/more.go", "package rule\n\nimport \"small/internal/effect\"\n"),
			[]string{`rule/more.go:3: imports small/internal/effect, which the line of "rule" in ARCHITECTURE.md does not allow`},
		},
		"an import behind a build tag": {
			file("rule/more.go", "//go:build never\n\npackage rule\n\nimport \"small/internal/effect\"\n"),
			[]string{`rule/more.go:5: imports small/internal/effect, which the line of "rule" in ARCHITECTURE.md does not allow`},
		},
		"a third-party import that is not listed": {
			file("internal/fault/more.go", "package fault\n\nimport \"example.com/lib/deep/x\"\n"),
			[]string{`internal/fault/more.go:3: imports example.com/lib/deep/x, which the line of "internal/fault" in ARCHITECTURE.md does not allow`},
		},
		"a child process where none may be": {
			file("cmd/prog/exec.go", "package main\n\nimport \"os/exec\"\n"),
			[]string{`cmd/prog/exec.go:3: imports os/exec, which the line of "cmd/prog" in ARCHITECTURE.md does not allow`},
		},
		"a third-party module with two importers": {
			func(files map[string]string) {
				architecture("| `internal/fault` | kinds | – | – |", "| `internal/fault` | kinds | – | `example.com/lib` |")(files)
				file("internal/fault/more.go", "package fault\n\nimport \"example.com/lib\"\n")(files)
			},
			[]string{`go.mod: example.com/lib is imported by internal/fault and internal/rim: one module, one importing package`},
		},
		"a package without a line": {
			file("extra/extra.go", "// Package extra is extra.\npackage extra\n"),
			[]string{`extra: this package has no line in ARCHITECTURE.md`},
		},
		"a line without a package": {
			architecture("## Afterwards", "| `ghost` | gone | – | – |\n## Afterwards"),
			[]string{`ARCHITECTURE.md:19: "ghost" is no package: remove the line, or write the package`},
		},
		"an import that is allowed and gone": {
			architecture("| `internal/fault` | kinds | – |", "| `internal/fault` | kinds | `internal/effect` |"),
			[]string{`ARCHITECTURE.md:17: "internal/fault" does not import "internal/effect": take it off the line`},
		},
		"an arrow upwards": {
			func(files map[string]string) {
				architecture("| `.` | the nouns | – |", "| `.` | the nouns | `rule` |")(files)
				file("more.go", "package small\n\nimport \"small/rule\"\n")(files)
			},
			[]string{`ARCHITECTURE.md:7: "." (Nouns) may not import "rule" (Rules): arrows point from programs to rules to nouns`},
		},
		"a rule that sees the rim": {
			func(files map[string]string) {
				architecture("`.` `internal/fault`", "`.` `internal/effect` `internal/fault`")(files)
				file("rule/more.go", "package rule\n\nimport \"small/internal/effect\"\n")(files)
			},
			[]string{`ARCHITECTURE.md:10: "rule" (Rules) may not import "internal/effect" (Rim): arrows point from programs to rules to nouns`},
		},
		"a context that sees another": {
			func(files map[string]string) {
				architecture("## Programs", "| `other` | decides (pure) | `rule` | – |\n## Programs")(files)
				file("other/doc.go", "// Package other decides (pure).\npackage other\n\nimport \"small/rule\"\n")(files)
			},
			[]string{`ARCHITECTURE.md:11: "other" (Rules) may not import "rule" (Rules): arrows point from programs to rules to nouns`},
		},
		"another sentence": {
			file("rule/doc.go", "// Package rule is something else (pure).\npackage rule\n"),
			[]string{`rule/doc.go:1: the package comment begins "Package rule is something else (pure).", and ARCHITECTURE.md says "what is decided (pure)"`},
		},
		"no package comment": {
			file("rule/doc.go", "package rule\n"),
			[]string{`rule: no file has a package comment: doc.go begins "Package rule is what is decided (pure)."`},
		},
		"a long file": {
			file("rule/long.go", "package rule\n"+strings.Repeat("\n", 400)),
			[]string{`rule/long.go: 401 lines, and the limit is 400`},
		},
		"a long test": {
			file("rule/long_test.go", "package rule\n"+strings.Repeat("\n", 800)),
			[]string{`rule/long_test.go: 801 lines, and the limit is 800`},
		},
		"a long main": {
			func(files map[string]string) { files["cmd/prog/main.go"] += strings.Repeat("\n", 40) },
			[]string{`cmd/prog/main.go: 47 lines, and the limit is 40`},
		},
		"a rule that reads the clock": {
			file("rule/more.go", "package rule\n\nimport \"time\"\n\nvar now = time.Now\n"),
			[]string{`rule/more.go:5: reads the clock (time.Now): now is an argument`},
		},
		"a rule that reads files": {
			file("rule/more.go", "package rule\n\nimport \"os\"\n"),
			[]string{`rule/more.go:3: imports os, but what is decided here depends on values alone`},
		},
		"a rule that starts a goroutine": {
			file("rule/more.go", "package rule\n\nfunc f() { go f() }\n"),
			[]string{`rule/more.go:3: starts a goroutine, but what is decided here depends on values alone`},
		},
		"two effects with one name": {
			file("internal/rim/two.go", "package rim\n\nfunc g() { effect.Do(\"rim.file.write\", nil) }\n"),
			[]string{`internal/rim/two.go:3: effect "rim.file.write" stands at internal/rim/rim.go:13 too: the crash runner tells them apart by name`},
		},
		"an effect with a name of another form": {
			file("internal/rim/two.go", "package rim\n\nfunc g() { effect.Do(\"Write\", nil) }\n"),
			[]string{`internal/rim/two.go:3: effect "Write" is not named room.thing.verb`},
		},
		"an effect whose name is computed": {
			file("internal/rim/two.go", "package rim\n\nfunc g(n string) { effect.Do(n, nil) }\n"),
			[]string{`internal/rim/two.go:3: the name of an effect is a constant that stands at the call`},
		},
		"a question that may be answered late": {
			file("internal/rim/ask.go", "package rim\n\nvar in = intime.Transport{Transport: &http.Transport{}}\nvar past = http.Client{Transport: &http.Transport{}}\n"),
			[]string{`internal/rim/ask.go:4: asks past intime.Transport: an answer to a question that was given up would be taken for one`},
		},
		"a decision that no test holds": {
			file("docs/decisions/0002-b.md", "# B\n\nBecause.\n"),
			[]string{`docs/decisions/0002-b.md: no test holds this decision: end with a line "Checked by: TestX"`},
		},
		"a decision whose test is gone": {
			file("docs/decisions/0002-b.md", "# B\n\nChecked by: TestRule, TestGone\n"),
			[]string{`docs/decisions/0002-b.md:3: checked by TestGone, but there is no such test`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := sound()
			c.plant(files)
			if diff := cmp.Diff(c.want, plant(t, files)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTableIsStrict(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"cells": {"## Rules\n| `a` | b | c |\n", "ARCHITECTURE.md:2: 3 cells, want 4: path, what it is, may import, stands on"},
		"twice": {"## Rules\n| `a` | b | – | – |\n| `a` | b | – | – |\n", `ARCHITECTURE.md:3: "a" stands on line 2 too`},
		"empty": {"# Something else\n", "ARCHITECTURE.md: no table found below the headings Nouns, Tools, Rules, Stores, Programs, Rim"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := Table(c.text); err == nil || err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
	rows, err := Table(sound()["ARCHITECTURE.md"])
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(rows, func(r Row) bool { return r.Path == "internal/rim" }); i < 0 || !slices.Equal(rows[i].Outside, []string{"example.com/lib", "os/exec"}) {
		t.Errorf("the row of internal/rim is %+v", rows)
	}
}
