package docker

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"noxmesh/host/container"
	"noxmesh/internal/fault"
)

const loadLimit = time.Hour // no more than whoever asks has

// load has docker read what fill writes. Where fill fails docker sees a stream that
// breaks off, and takes in nothing.
func (d Docker) load(ctx context.Context, name string, fill func(*container.Archive) error) error {
	from, to := io.Pipe()
	filled := make(chan error, 1)
	go func() { // it ends with the request, which closes its end
		err := fill(container.NewDockerArchive(to))
		filled <- err
		_ = to.CloseWithError(err) // it is never one of its own
	}()
	text, err := d.call(ctx, loadLimit, request{doing: "take in the image \"" + name + "\"", method: http.MethodPost, question: "/images/load?quiet=1", body: from})
	_ = from.Close()                                                            // it is never one of its own
	if wrong := <-filled; wrong != nil && !errors.Is(wrong, io.ErrClosedPipe) { // what docker says of it is that it breaks off
		return wrong
	}
	if err != nil { // docker has not read to the end, and this is why
		return err
	}
	why, err := parseLoaded(text)
	switch {
	case err != nil:
		return fault.Wrap(fault.Conflict, err, "take in the image %q: read what docker answers", name)
	case why != "":
		return d.undone(ctx, name, failed(why, "take in the image %q", name))
	}
	return nil // whether it is there is read back
}
