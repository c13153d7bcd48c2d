package docker

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A docker whose list names what has gone as well, which a daemon that was killed while
// a container went is then seen to do until it starts anew.
const phantom = `#!/bin/sh
cd "$(dirname "$0")"
for last; do :; done
case $1 in
ps) cat gone here 2>/dev/null; exit 0 ;;
inspect) cat here 2>/dev/null; exit 1 ;;
rm) [ "$last" = "$(cat here 2>/dev/null)" ] && mv here removed ;;
esac
`

// What docker only lists is not waited for: the unit would never start.
func TestWhatDockerListsAndHasNotHoldsNothingUp(t *testing.T) {
	t.Parallel()
	unit := Docker{}.Unit("web", "")
	for _, line := range append(unit.Before, unit.Behind...) {
		script, ok := strings.CutSuffix(line, `"`)
		_, script, found := strings.Cut(script, `=-/bin/sh -c "`)
		if !ok || !found {
			continue
		}
		dir := t.TempDir()
		for name, text := range map[string]string{"docker": phantom, "gone": "11\n", "here": "22\n"} {
			must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700))
		}
		script = strings.NewReplacer("$$", "$", `\"`, `"`, Program, filepath.Join(dir, "docker")).Replace(script)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // it would wait for ever
		out, err := exec.CommandContext(ctx, "sh", "-c", script).CombinedOutput()
		if err != nil && !strings.HasPrefix(line, "ExecStop=") {
			t.Errorf("%s\n%v: %s", line, err, out)
		}
		if _, err := os.Stat(filepath.Join(dir, "removed")); (err == nil) == strings.HasPrefix(line, "ExecStop=") {
			t.Errorf("%s\nis the container removed? %v", line, err)
		}
		cancel()
	}
}
