package line

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// TestMain removes the programs that were built on the way.
func TestMain(m *testing.M) {
	flag.Parse()
	var err error
	if built, err = os.MkdirTemp("", "mesh-line-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := os.RemoveAll(built); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

var built string

// programs are the three that run, built once, as they are released.
var programs = sync.OnceValues(func() (string, error) {
	return build("programs", "mesh-controller", "mesh-builder", "mesh-host")
})

func build(name string, args ...string) (string, error) {
	dir := filepath.Join(built, name)
	words := []string{"build", "-o", dir + "/"}
	for _, a := range args {
		if a[0] != '-' {
			a = "./cmd/" + a
		}
		words = append(words, a)
	}
	cmd := exec.Command("go", words...)
	cmd.Dir, cmd.Env = filepath.Join("..", ".."), append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", errors.Join(err, errors.New(string(out)))
	}
	return dir, nil
}

func folder(t testing.TB, of func() (string, error)) string {
	t.Helper()
	dir, err := of()
	must(t, err)
	return dir
}
