package docker

import (
	"context"
	"io"
	"net/http"
	"time"

	"noxmesh/host/container"
	"noxmesh/internal/fault"
)

const loadLimit = time.Hour // no more than whoever asks has

// load has docker read what fill writes. Whether the image is there is read back.
func (d Docker) load(ctx context.Context, name string, fill func(*container.Archive) error) error {
	return container.Pour(container.NewDockerArchive, fill, func(from io.Reader) error {
		text, err := d.call(ctx, loadLimit, request{doing: "take in the image \"" + name + "\"", method: http.MethodPost, question: "/images/load?quiet=1", body: from})
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
		return nil
	})
}
