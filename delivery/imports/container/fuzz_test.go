package container_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"noxmesh/delivery/imports"
	"noxmesh/delivery/imports/container"
)

func seeds() []string {
	return []string{
		"FROM a\n",
		"ARG A=b\nFROM $A:${T:-1} AS x\nFROM X\n",
		"FROM a AS b\nCOPY --from=b x y\nCOPY --from=0 a b\nADD --from=im:1 a b\n",
		"# syntax=docker/dockerfile:1\n# escape=`\nFROM x`\n y\n",
		"FROM a\nRUN <<EOF\nFROM c\nEOF\nRUN --mount=type=bind,from=x,target=/ ls\n",
		"FROM a\nONBUILD COPY --from=q a b\nONBUILD RUN <<A <<-B\nx\nA\n\tB\n",
		"ARG A=a B=$A:${C:-1}\nFROM ${B%:*}\nFROM ${A:+b}${Z:-'q'}\nFROM ${A/a/b}${B#*:}\n",
		"FROM a\nRUN a \\\n# c\n\n b\nCOPY <<\"A\" <<B x\nA\nB\n",
		"#!/x\n#syntax=f\nFROM base-${TARGETARCH} AS x\nENV A b\nENV C=d \"E\"=f\nCOPY --from=$A x y\nRUN [\"a\",\"<<E\"]\n",
		"FROM ${A:-${B:-${C:-${D?\"no\"}}}}\n",
	}
}

func FuzzRead(f *testing.F) {
	all := seeds()
	if len(all) != 10 {
		f.Fatalf("%d seeds, want 10", len(all))
	}
	for _, s := range all {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		l := container.Language{}
		found := l.Read(imports.Input{Platform: "linux/amd64", Files: []imports.File{{Path: "Dockerfile", Text: text}}})
		if d := cmp.Diff(found, found.Sorted(l.Owners)); d != "" {
			t.Fatal(d)
		}
		lines := 1 + bytes.Count(text, []byte("\n"))
		for _, i := range found.Imports {
			if i.At.Line < 1 || i.At.Line > lines {
				t.Fatalf("%+v, of %d lines", i, lines)
			}
			if again, ok := container.Image(i.Name); !ok || again != i.Name {
				t.Fatalf("%q is %q written in full", i.Name, again)
			}
		}
		for _, fault := range found.Faults {
			if fault.At.Line < 0 || fault.At.Line > lines || fault.Why == "" {
				t.Fatalf("%+v, of %d lines", fault, lines)
			}
		}
	})
}

// TestHostile reads what is made to take long: it ends, and in little time for its size.
func TestHostile(t *testing.T) {
	t.Parallel()
	doubling := "ARG A=" + strings.Repeat("x", 100) + "\n"
	for range 60 {
		doubling += "ARG A=$A$A\n"
	}
	for name, text := range map[string]string{
		"doubling":     doubling + "FROM $A",
		"nested":       "FROM " + strings.Repeat("${A:-", 1<<18),
		"quotes":       "FROM a\nRUN <<\"" + strings.Repeat("$A", 1<<19),
		"documents":    "FROM a\nRUN " + strings.Repeat("<<A ", 1<<16) + strings.Repeat("\nA", 1<<16),
		"patterns":     "ARG A=" + strings.Repeat("a", 4000) + strings.Repeat("\nFROM ${A%%*a*a*a*b}", 1<<14),
		"replacements": "ARG A=" + strings.Repeat("a", 4000) + strings.Repeat("\nFROM ${A//*b/c}", 1<<14),
		"continued":    "FROM a\nRUN " + strings.Repeat("\\\n", 1<<18),
		"stages":       strings.Repeat("FROM a AS b\nCOPY --from=b x y\n", 1<<14),
		"mounts":       "FROM a\nRUN " + strings.Repeat("--mount=from=b ", 1<<15),
		"unknown":      strings.Repeat("x\n", 1<<19),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if said := read(text); len(said) == 0 {
				t.Error("nothing is said")
			}
		})
	}
}

// BenchmarkRead reads a thousand files of forty instructions each.
func BenchmarkRead(b *testing.B) {
	var in imports.Input
	for n := range 1000 {
		var text strings.Builder
		fmt.Fprintf(&text, "# syntax=docker/dockerfile:1\nARG R=quay.io\nARG I=$R/site/base%d:${V:-1}\nFROM $I AS build\n", n)
		for step := range 36 {
			fmt.Fprintf(&text, "RUN --mount=type=cache,target=/c apt-get update && \\\n    # what is needed\n    apt-get install --yes package%d\n", step)
		}
		text.WriteString("FROM scratch\nCOPY --from=build /x /y\n")
		in.Files = append(in.Files, imports.File{Path: fmt.Sprintf("%d.Dockerfile", n), Text: []byte(text.String())})
	}
	for b.Loop() {
		if found := (container.Language{}).Read(in); len(found.Imports) != 1001 || len(found.Faults) > 0 {
			b.Fatal(len(found.Imports), found.Faults)
		}
	}
}
