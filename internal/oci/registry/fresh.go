package registry

import (
	"net/http"
	"path"
	"strings"
	"sync"
)

// fresh is what is pushed while a collection is under way. A blob that was there
// before is then linked without being written, and looks as old as it is.
type fresh struct {
	mu    sync.Mutex // guards blobs
	blobs map[string]bool
}

func (f *fresh) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.blobs = map[string]bool{}
}

func (f *fresh) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.blobs = nil
}

// add notes the blob that a write is about, by its digest.
func (f *fresh) add(r *http.Request) {
	digest := r.URL.Query().Get("digest")
	if digest == "" {
		digest = path.Base(r.URL.Path)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if hex, ok := strings.CutPrefix(digest, "sha256:"); ok && f.blobs != nil {
		f.blobs[hex] = true
	}
}

func (f *fresh) has(hex string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.blobs[hex]
}
