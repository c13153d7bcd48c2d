package archtest

import (
	"slices"
	"strings"
	"testing"
)

// What a program is not made of: the promises that are made about each. A folder
// stands for everything below it, and "/store" for every store.
func TestProgramsHaveNothingInThemThatTheyMustNot(t *testing.T) {
	t.Parallel()
	tree := read(t, "../..")
	for program, without := range map[string][]string{
		// On every node, as root: no database, no broker server, no registry, no git, and no context.
		"cmd/mesh-host": {
			"internal/db", "internal/bus/broker", "internal/oci/registry", "internal/git", "internal/demo", "/store",
			"delivery", "inventory", "plan", "status", "controller", "builder", "api", "cli",
		},
		// Where a person is: what it knows, it is told over the API.
		"cmd/mesh": {"internal/db", "internal/bus", "internal/oci", "internal/git", "/store", "controller", "builder", "host"},
		// Beside strangers' code: nothing of the record.
		"cmd/mesh-builder": {"internal/db", "internal/bus/broker", "internal/oci/registry", "/store", "inventory", "plan", "controller", "host"},
		// It builds nothing, and it applies nothing.
		"cmd/mesh-controller": {"builder", "host", "cli"},
	} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			reach := tree.Reach(program)
			if len(reach) < 5 {
				t.Fatalf("it is made of %q: that can't be all", reach)
			}
			for _, name := range without {
				if i := slices.IndexFunc(reach, func(path string) bool { return within(path, name) }); i >= 0 {
					t.Errorf("%s is made of %s", program, reach[i])
				}
			}
		})
	}
}

func within(path, name string) bool {
	if strings.HasPrefix(name, "/") {
		return strings.HasSuffix(path, name)
	}
	return path == name || strings.HasPrefix(path, name+"/")
}
