package supply

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"noxmesh/builder/depot"
	"noxmesh/builder/lock"
	"noxmesh/internal/fault"
)

// file is one file that a lock file names.
type file struct {
	name   string // for people
	in     string // the lock file
	hashes []lock.Hash
	from   place
	media  string
	most   int64 // bytes
}

func (f file) key() string { return f.hashes[0].String() }

// give answers with a file.
func (x *Session) give(f file) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		got, err := x.have(r.Context(), f)
		if err != nil {
			x.fails(w, r, fault.Add(err, "the dependency %s, which %q names", f.name, f.in))
			return
		}
		defer got.Close()
		w.Header().Set("Content-Type", f.media)
		http.ServeContent(w, r, "", time.Time{}, io.NewSectionReader(got, 0, got.Size))
	}
}

// text answers with what is made here.
func text(media, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", media)
		_, _ = io.WriteString(w, body) // who does not hear it asks again
	}
}

// fails ends the build for something that could not be given, where somebody
// still waits for it.
func (x *Session) fails(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() == nil {
		x.ends(err)
		x.order.Note(fmt.Sprintf("dependencies: %s", err))
	}
	refuse(w, http.StatusForbidden, err)
}

// have is a file that is proven: a kept one, or fetched now.
func (x *Session) have(ctx context.Context, f file) (*depot.File, error) {
	defer x.alone(f.key())()
	if !x.order.Fresh || x.isMine(f.key()) {
		got, err := x.depot.Have(f.hashes)
		if err != nil {
			x.order.Note(fmt.Sprintf("dependencies: %s; it is fetched again", err))
		}
		if got != nil {
			x.count(f.key(), false, got.Size)
			return got, nil
		}
	}
	defer x.waits()()
	var got *depot.File
	err := x.fetcher.patiently(ctx, func() (err error) {
		got, err = x.depot.Put(f.hashes, f.most, func(to io.Writer) error {
			_, err := x.fetcher.get(ctx, f.from, to)
			return err
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	x.count(f.key(), true, got.Size)
	return got, nil
}

// Close lets the way to others go.
func (x *Session) Close() {
	if x != nil {
		x.fetcher.close()
	}
}
