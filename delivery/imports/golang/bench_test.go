package golang_test

import (
	"fmt"
	"strings"
	"testing"

	"noxmesh/delivery/imports"
	"noxmesh/delivery/imports/golang"
)

// thousand is a module of 1,000 files in 100 packages, each of some 300 lines.
func thousand() imports.Input {
	in := imports.Input{Platform: "linux/amd64", Files: []imports.File{{Path: "go.mod", Text: []byte("module example.org/large\n\nrequire example.org/other v1.0.0\n")}}}
	for i := range 1000 {
		var b strings.Builder
		fmt.Fprintf(&b, "// Package p%d is generated.\npackage p%d\n\nimport (\n\t\"context\"\n\t\"fmt\"\n", i/10, i/10)
		for j := range 10 {
			fmt.Fprintf(&b, "\t\"example.org/large/p%d\"\n\tother%d \"example.org/other/v%d/p\"\n", (i/10+j)%100, j, (i+j)%50)
		}
		b.WriteString(")\n")
		for j := range 70 {
			fmt.Fprintf(&b, "\n// F%d does nothing.\nfunc F%d(ctx context.Context) error { return fmt.Errorf(\"nothing: %%w\", ctx.Err()) }\n", j, j)
		}
		suffix := ""
		if i%4 == 0 {
			suffix = "_test"
		}
		in.Files = append(in.Files, imports.File{Path: fmt.Sprintf("p%d/f%d%s.go", i/10, i, suffix), Text: []byte(b.String())})
	}
	return in
}

func BenchmarkRead(b *testing.B) {
	in := thousand()
	size := 0
	for _, f := range in.Files {
		size += len(f.Text)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		if found := (golang.Language{}).Read(in); len(found.Imports) != 50 || len(found.Faults) != 0 {
			b.Fatal(len(found.Imports), found.Faults)
		}
	}
}

// What is hostile costs what its size costs, within an order.
func BenchmarkHostile(b *testing.B) {
	long := strings.Repeat("a/", 2000)
	var deep, mod, many strings.Builder
	mod.WriteString("module m.org\n")
	many.WriteString("package a\n")
	for i := range 1000 {
		fmt.Fprintf(&mod, "replace %s%d => ./%s\nignore %sb\n", long, i, long, long)
		fmt.Fprintf(&many, "import \"%s%d\"\n", long, i)
	}
	for i := range 1000 {
		fmt.Fprintf(&deep, "-- %s%d/a.go --\npackage a\nimport \"x\"\n", strings.Repeat("a/", 255), i)
	}
	for name, tree := range map[string]string{
		"deep":       "-- go.mod --\n" + mod.String() + "-- a.go --\n" + many.String() + deep.String(),
		"comments":   "-- a.go --\n" + strings.Repeat("/*\n*/", 1<<20),
		"parens":     "-- a.go --\npackage a\nimport " + strings.Repeat("(", 4<<20),
		"imports":    "-- a.go --\npackage a\n" + strings.Repeat("import \"x\"\n", 1<<18),
		"constraint": "-- a.go --\n//go:build " + strings.Repeat("(", 4<<20) + "\n\npackage a\n",
		"nots":       "-- a.go --\n//go:build " + strings.Repeat("!(", 2<<20) + "\n\npackage a\n",
		"plus":       "-- a.go --\n" + strings.Repeat("// +build a\n", 1<<19) + "\npackage a\n",
		"mod":        "-- go.mod --\nmodule a\n" + strings.Repeat("require (\n)\n", 1<<19),
		"word":       "-- go.mod --\nmodule a\n" + strings.Repeat("a//", 1<<21),
		"words":      "-- go.mod --\nmodule a\nx " + strings.Repeat("\"a\" ", 1<<20),
	} {
		in := imports.Input{Platform: "linux/amd64", Files: files(tree)}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(tree)))
			for b.Loop() {
				golang.Language{}.Read(in)
			}
		})
	}
}
