package container_test

import (
	"flag"
	"strings"
	"testing"

	"noxmesh/delivery/imports"
	"noxmesh/delivery/imports/container"
	"noxmesh/delivery/imports/importstest"
	"noxmesh/internal/fault/faulttest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestEveryErrorIsShown: each error text stands in a golden file, with what it is said of.
func TestEveryErrorIsShown(t *testing.T) {
	t.Parallel()
	faulttest.Golden(t, *update, importstest.Faults(t, container.Language{}, badFiles()), notSaid()...)
}

// notSaid is texts that are no errors.
func notSaid() []string { return nil }

func badFiles() map[string]map[string]string {
	file := func(text string) map[string]string { return map[string]string{"Containerfile": text} }
	long := strings.Repeat
	return map[string]map[string]string{
		"twice":                 file("# escape=\\\n# escape=`\nFROM a\n"),
		"escape":                file("# escape=x\nFROM a\n"),
		"deep":                  file("FROM " + long("${a:-", 1000) + "b" + long("}", 1000) + "\n"),
		"open":                  file("FROM ${a:-b\n"),
		"too much":              file("ARG a=" + long("x", 4000) + "\n" + long("ARG b=$a\n", 4500) + "FROM $b\n"),
		"long":                  file("ARG a=" + long("x", 4000) + "\nARG b=$a$a\nFROM b\n"),
		"single quote":          file("FROM 'a\n"),
		"double quote":          file("FROM \"a\n"),
		"no name":               file("FROM ${}\n"),
		"here-document":         file("FROM a\nRUN <<END\nx\n"),
		"no instruction":        file("FROM a\nFORM b\n"),
		"later":                 file("FROM a\nONBUILD FROM b\n"),
		"large":                 file("FROM a\n" + long("#\n", imports.FileLimit/2)),
		"not UTF-8":             file("FROM a\nRUN \xff\n"),
		"no FROM":               file("ARG a=b\n"),
		"a sign":                file("FROM ${a@b}\n"),
		"no default":            file("FROM ${a?}\n"),
		"no default, and why":   file("FROM ${a:?say-it}\n"),
		"an escape":             file("ARG a=b\nFROM ${a#\\b}\n"),
		"a long pattern":        file("ARG a=b\nFROM ${a#" + long("x", 2000) + "}\n"),
		"before FROM":           file("RUN a\nFROM b\n"),
		"FROM of nothing":       file("FROM a b\n"),
		"a stage":               file("FROM a AS 1\n"),
		"an open name":          file("ARG a\nFROM $a\n"),
		"no image":              file("ARG a=\nFROM $a\n"),
		"no image's name":       file("FROM A:B:C\n"),
		"ARG of nothing":        file("ARG =a\nFROM b\n"),
		"a long mount":          file("FROM a\nRUN --mount=" + long("x", 70000) + " b\n"),
		"quotes of a mount":     file("FROM a\nRUN --mount=type=bind,a=\\\"b c\n"),
		"a stage by its number": file("FROM a\nCOPY --from=3 b c\n"),
	}
}
