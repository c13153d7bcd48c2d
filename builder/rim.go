package builder

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"noxmesh/delivery/build"
	"noxmesh/document"
	"noxmesh/internal/git"
	"noxmesh/internal/oci"
)

// Forge is where the trees of requests are.
type Forge interface {
	// Checkout writes the folder as it is at exactly this commit into dir.
	Checkout(ctx context.Context, o git.Order, dir string) (git.Checked, error)
}

// Registry is where one request is published, and where what it is built against lies.
type Registry interface {
	// PullBlob writes the bytes of a blob, which are to be used only where it gives nil.
	PullBlob(ctx context.Context, b oci.Blob, to io.Writer) error
	// PushBlob stores bytes that nobody sees yet.
	PushBlob(ctx context.Context, b oci.Blob, from io.Reader) error
	// PushManifest makes a build visible, in one step.
	PushManifest(ctx context.Context, repository string, m oci.Manifest) (document.Digest, error)
	// Close lets the way there go.
	Close()
}

// runs is what commands run in.
type runs interface {
	run(ctx context.Context, c command) (code int, err error)
}

// Rim is everything outside its own folder that a builder uses while it runs.
type Rim struct {
	Link     Link
	Forge    Forge
	Registry func(build.Request) (Registry, error)
	Commands func(ctx context.Context, argv []string, tree string) (code int, err error) // what runs one in place of a sandbox
	Random   func(n int64) int64                                                         // spreads what is waited for, from 0 to below n
}

// run runs a command beside what is laid out: where there is no sandbox to show a
// library in its place, a link leads to it.
func (r Rim) run(ctx context.Context, c command) (int, error) {
	for at, lib := range c.laid.lib {
		place := filepath.Join(c.laid.dir, at)
		if to, err := os.Readlink(place); err == nil && to == lib {
			continue
		}
		if err := errors.Join(os.Remove(place), os.Symlink(lib, place)); err != nil {
			return 0, err
		}
	}
	return r.Commands(ctx, c.argv, c.tree)
}

// On is Run on this rim, which is the caller's to close.
func On(ctx context.Context, c Config, rim Rim) (err error) {
	b, closeAll, err := openWith(c, func(c Config, s state) (*builder, error) { return openOn(c, s, rim) })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	return b.loop(ctx)
}

func openOn(c Config, s state, rim Rim) (*builder, error) {
	b, err := openMember(c, s)
	if err != nil {
		return nil, err
	}
	if b.workshop, err = openWorkshop(c.Workshop, s.dir, nil); err != nil {
		return nil, err
	}
	b.shelf, err = openLibraries(c, b.workshop)
	b.caller.link, b.git, b.registry, b.sandbox, b.random = rim.Link, rim.Forge, rim.Registry, rim, rim.Random
	return b, err
}
