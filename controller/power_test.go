//go:build meshcrash && power

package controller

import (
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"noxmesh/internal/power"
	"noxmesh/link"
)

const keysVariable = "MESH_TEST_KEYS"

// TestPowerIsCutWhileKeysAreMade: a mesh that has said who it is stays who it
// is, and the root key beside its keys is the one that signed them.
func TestPowerIsCutWhileKeysAreMade(t *testing.T) {
	if dir := os.Getenv(keysVariable); dir != "" {
		k, err := openKeys(dir, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Fprintf(os.Stdout, "mesh=%s\n", k.mesh)
		return
	}
	t.Parallel()
	run := func(dir string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestPowerIsCutWhileKeysAreMade$")
		cmd.Env = append(os.Environ(), keysVariable+"="+dir)
		return cmd
	}
	power.Writer{Run: run, Begin: power.Blank(t, "16M"), Least: 6}.EachCut(t, func(t *testing.T, dir string, said []string) {
		k, err := openKeys(dir, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range said {
			if mesh, ok := strings.CutPrefix(s, "mesh="); ok && mesh != k.mesh {
				t.Errorf("it had said that it is mesh %s, and is %s", mesh, k.mesh)
			}
		}
		text, err := os.ReadFile(filepath.Join(dir, rootFile))
		if err != nil {
			t.Fatal(err)
		}
		seed, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		if root, err := link.KeyFromSeed(seed); err != nil || root.Public() != k.root {
			t.Errorf("the root key is another's: %v", err)
		}
	})
}
