//go:build meshcrash

package registry

import (
	"bytes"
	"testing"

	"noxmesh/internal/oci"
)

// TestEveryEffectOfAPushThatBreaksOffMayBeTheLast kills the registry before and
// after it drops what such a push has left, and lets that fail: nothing shows,
// and the next push goes.
func TestEveryEffectOfAPushThatBreaksOffMayBeTheLast(t *testing.T) {
	t.Parallel()
	for point, dies := range map[string]bool{
		"MESH_CRASH=registry.upload.drop#1:before": true, "MESH_CRASH=registry.upload.drop#1:after": true, "MESH_FAIL=registry.upload.drop#1:EIO": false,
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			client := func(environment ...string) *oci.Client {
				base, _ := startToKill(t, dir, environment...)
				c, err := oci.New(oci.Config{Base: base, User: "builder", Secret: "b", RequestID: "r1"})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(c.Close)
				return c
			}
			blob, data := random(t, 3<<20)
			c := client(point)
			if err := c.PushBlob(t.Context(), blob, short{bytes.NewReader(data[:2<<20])}); err == nil {
				t.Fatal("a part of it is all of it")
			}
			// Whoever dies does so when the push has ended already: it is asked until it is gone.
			for dies {
				if _, err := c.HasBlob(t.Context(), mine, blob.Digest, blob.Size); err != nil {
					break
				}
			}
			if left := len(underWay(t, dir)); point == "MESH_CRASH=registry.upload.drop#1:after" && left > 0 || point == "MESH_CRASH=registry.upload.drop#1:before" && left == 0 {
				t.Errorf("%d uploads are left", left)
			}
			if dies {
				c = client()
			}
			if has, err := c.HasBlob(t.Context(), mine, blob.Digest, blob.Size); err != nil || has {
				t.Errorf("half a blob shows: %v %v", has, err)
			}
			if err := c.PushBlob(t.Context(), blob, bytes.NewReader(data)); err != nil {
				t.Error(err)
			}
		})
	}
}
