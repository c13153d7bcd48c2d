package podman

import (
	"context"
	"errors"
	"io"
	"strings"

	"noxmesh/host/container"
	"noxmesh/host/system"
	"noxmesh/internal/fault"
)

// load has podman read what fill writes. Where fill fails podman sees a stream that
// breaks off, and takes in nothing.
func (p Podman) load(ctx context.Context, name string, fill func(*container.Archive) error) error {
	from, to := io.Pipe()
	filled := make(chan error, 1)
	go func() { // it ends with podman, which closes its end
		err := fill(container.NewArchive(to))
		filled <- err
		_ = to.CloseWithError(err) // it is never one of its own
	}()
	done, err := p.sys.Run(ctx, system.Command{Name: program, Args: []string{"load", "--quiet"}, Input: from})
	_ = from.CloseWithError(errEnded) // likewise
	wrong := <-filled
	switch {
	case wrong != nil && !errors.Is(wrong, errEnded): // what podman says of it is that it breaks off
		return wrong
	case err != nil:
		return err
	case done.Code != 0 && blamed(done.Said) != nil:
		return fault.Wrap(fault.Conflict, blamed(done.Said), "take in the image %q", name)
	case done.Code != 0:
		return fault.Wrap(fault.Conflict, fault.New(fault.Conflict, "podman says: %s", loadWords(done.Said)), "take in the image %q", name)
	}
	return wrong
}

var errEnded = errors.New("podman has ended")

// loadWords is why no image could be taken in: podman tries each form that an image may
// have, and says of each why it is not that one.
func loadWords(said string) string {
	for line := range strings.Lines(said) {
		if why, ok := strings.CutPrefix(line, " * oci-archive: "); ok {
			return container.LastWords(why)
		}
	}
	return container.LastWords(said)
}
