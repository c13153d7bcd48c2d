// Package importstest says what a reader of code finds wrong with files, as a golden file has it.
package importstest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"noxmesh/delivery/imports"
)

type reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

// Faults is what the language says of each of these modules, in the order of their
// names: at most three of its faults, a line each. It fails where nothing is wrong
// with one. A module is its files' texts by their paths.
func Faults(t reporter, language imports.Language, bad map[string]map[string]string) string {
	t.Helper()
	var said strings.Builder
	for _, name := range slices.Sorted(maps.Keys(bad)) {
		in := imports.Input{Platform: "linux/amd64"}
		for file, text := range bad[name] {
			in.Files = append(in.Files, imports.File{Path: file, Text: []byte(text)})
		}
		faults := language.Read(in).Faults
		if len(faults) == 0 {
			t.Errorf("%s: nothing is wrong with it", name)
		}
		for _, f := range faults[:min(3, len(faults))] {
			fmt.Fprintf(&said, "%s: %.80s: %s\n", name, f.At, f.Why)
		}
	}
	return said.String()
}
