package cli

import (
	"os"
	"strings"
	"testing"
	"time"

	"noxmesh/internal/term"
	"noxmesh/manifest"
	"noxmesh/status"
)

// A module.json that is refused is said in the terminal as it is said anywhere:
// each fault begins with file, line and column, so that an editor jumps there,
// and nothing of it is obeyed.
func TestABadManifestInTheTerminal(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"several", "module-name-escape", "key-escape", "path-control", "comment-line"} {
		b, err := os.ReadFile("../manifest/testdata/bad/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		_, bad := manifest.DecodeSource("module.json", b)
		if bad == nil {
			t.Fatalf("%s is taken", name)
		}
		for file, width := range map[string]int{"bad-" + name + "-80": 80, "bad-" + name + "-pipe": 0} {
			s, b := screen(width)
			why := "module.json is refused:\n" + bad.Error()
			s.showWaiting(status.Module{
				Module: "board", Source: status.Source{State: "module.json is refused", Why: bad.Error()},
				Waiting: []status.Waiting{{For: why, Since: ago(3 * time.Minute)}},
			}, noon)
			for line := range strings.Lines(b.String()) {
				if got := strings.TrimSuffix(line, "\n"); term.Clean(got) != got {
					t.Errorf("a terminal obeys %q", got)
				}
			}
			golden(t, file, b.String())
		}
	}
}
