package registry

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"noxmesh/internal/disk"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// endUpload drops what there is of an upload that did not end well, be it that
// whoever pushes has gone: an upload is one PUT, so that nobody goes on with it,
// and who tries again begins a new one. On a full disk each try would else take
// more of what is left.
func (g *Registry) endUpload(s *statusWriter, r *http.Request, repo string) {
	if s.status == http.StatusCreated {
		return
	}
	id := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	g.dropUpload(filepath.Join(g.cfg.Dir, filepath.FromSlash(repositories), filepath.FromSlash(repo), "_uploads", id))
}

// dropUpload removes an upload. Its bytes go first: the registry behind may hold
// the file open for a while.
func (g *Registry) dropUpload(dir string) {
	err := effect.Do("registry.upload.drop", func() error {
		if err := os.Truncate(filepath.Join(dir, "data"), 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return os.RemoveAll(dir)
	})
	if err != nil {
		g.cfg.Kept(fault.Wrap(fault.Unavailable, disk.Why(err, dir), "remove the upload %q", dir))
	}
}

// statusWriter keeps the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader sends the first status; the registry behind may say another after that.
func (s *statusWriter) WriteHeader(status int) {
	if s.status == 0 {
		s.status = status
		s.ResponseWriter.WriteHeader(status)
	}
}

// Unwrap is the writer behind, for what the server can do besides.
func (s *statusWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }
