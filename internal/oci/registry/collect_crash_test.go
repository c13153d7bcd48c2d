//go:build meshcrash

package registry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"noxmesh/document"
)

const collects = "REGISTRY_TO_COLLECT" // the folder that the test binary is to collect from, and what it names

// TestEveryEffectOfACollectionMayBeTheLast kills the process before and after each
// effect of a collection: what is named is there, and the next one takes the rest.
func TestEveryEffectOfACollectionMayBeTheLast(t *testing.T) {
	t.Parallel()
	if what := os.Getenv(collects); what != "" {
		dir, named, _ := strings.Cut(what, ":")
		reg, err := New(Config{Dir: dir, Authorize: rules})
		if err != nil {
			t.Fatal(err)
		}
		_, err = reg.Collect(t.Context(), Collecting{Before: later(), Names: func(_ context.Context, name string) (Named, error) {
			if name != mine {
				return Named{}, nil
			}
			return keeping(document.Digest(named)), nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	var points []string
	for _, name := range []string{"registry.manifest.collect", "registry.layer.collect", "registry.repository.settle", "registry.blob.collect"} {
		for _, n := range []int{1, 2} {
			for _, when := range []string{"before", "after"} {
				if n == 1 || name != "registry.repository.settle" {
					points = append(points, fmt.Sprintf("MESH_CRASH=%s#%d:%s", name, n, when))
				}
			}
		}
		points = append(points, "MESH_FAIL="+name+"#1:EIO")
	}
	for _, point := range points {
		t.Run(point, func(t *testing.T) { t.Parallel(); killedCollection(t, point) })
	}
}

func killedCollection(t *testing.T, point string) {
	t.Helper()
	dir := t.TempDir()
	s := newShelf(t, dir)
	shared, old, fresh, orphan := s.blob(1000), s.blob(2000), s.blob(3000), s.blob(4000)
	first, second := s.publish("", old, shared), s.publish("", fresh, shared)
	about := s.publish(first, s.blob(5))
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run", "^TestEveryEffectOfACollectionMayBeTheLast$", "-test.count=1")
	passed := filepath.Join(t.TempDir(), "effects")
	cmd.Env = append(os.Environ(), collects+"="+dir+":"+string(second), point, "MESH_EFFECTS="+passed)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("it ended well: %s", out)
	}
	if strings.HasPrefix(point, "MESH_CRASH=") && exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("it was not killed: %v: %s", err, out)
	}
	whole := func() {
		t.Helper()
		if !s.shows(second) || !s.there(fresh) || !s.there(shared) {
			t.Error("what is named is gone")
		}
	}
	whole()
	if s.shows(first) && (!s.there(old) || !s.there(shared)) {
		t.Error("a manifest shows whose blobs are gone")
	}
	s.collect(later(), keeping(second))
	whole()
	if s.shows(first) || s.shows(about) || s.there(old) || s.there(orphan) {
		t.Error("the next one leaves what nothing names")
	}
	want := []string{second.Hex(), fresh.Digest.Hex(), shared.Digest.Hex()}
	slices.Sort(want)
	if left := onDisk(t, dir); !slices.Equal(left, want) {
		t.Errorf("left: %v\nwant %v", left, want)
	}
}
