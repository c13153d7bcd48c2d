package builder

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"noxmesh/delivery/build"
	"noxmesh/document"
	"noxmesh/internal/git"
	"noxmesh/internal/oci"
	"noxmesh/manifest"
)

// easy is a forge with one file in each tree, and a registry that takes everything.
type easy struct{ Registry }

func (easy) Checkout(_ context.Context, o git.Order, dir string) (git.Checked, error) {
	text := fmt.Sprintf(`{"module": "site", "summary": "commit %s"}`, o.Commit)
	return git.Checked{Tree: o.Commit}, os.WriteFile(filepath.Join(dir, manifest.Name), []byte(text), 0o600)
}

func (easy) PushBlob(_ context.Context, _ oci.Blob, from io.Reader) error {
	_, err := io.Copy(io.Discard, from)
	return err
}

func (easy) PushManifest(_ context.Context, _ string, m oci.Manifest) (document.Digest, error) {
	return document.Sum(fmt.Append(nil, m)), nil
}

func (easy) Close() {}

// A builder asks for the next request as soon as it is done with one; and where
// a controller has nothing and says so at once, it is asked once a second.
func TestWorkIsTakenOneAfterTheOther(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const requests = 12
	for i := range requests {
		commit := strings.Repeat(fmt.Sprintf("%02x", i), 20)
		r.ask(identified(t, build.Request{
			Format: build.Format, Mesh: testMesh, Module: "site", Repository: "https://forge.test/site", Commit: commit, Tree: commit,
			Platform: Platform, Closure: []manifest.Input{}, Attempt: 1, Limit: 60, Target: "site",
		}))
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		began, ended := time.Now(), make(chan error)
		go func() {
			ended <- On(ctx, r.config, Rim{
				Link: r.controller, Forge: easy{}, Registry: func(build.Request) (Registry, error) { return easy{}, nil },
				Random: func(n int64) int64 { return n / 2 },
			})
		}()
		done := func() int {
			r.controller.mu.Lock()
			defer r.controller.mu.Unlock()
			return len(r.controller.answers)
		}
		synctest.Wait()
		if n := done(); n != requests {
			t.Errorf("%d of %d requests are answered before the builder waits for anything", n, requests)
		}
		time.Sleep(10*time.Second - time.Since(began))
		synctest.Wait()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	if n := len(r.controller.works); n < requests+10 || n > requests+12 {
		t.Errorf("a controller with %d requests was asked %d times within 10 seconds", requests, n)
	}
	for _, a := range r.controller.answers {
		if a.Outcome != build.OutcomeBuilt {
			t.Errorf("%s at %s: %s", a.Outcome, a.Step, a.Why)
		}
	}
}
