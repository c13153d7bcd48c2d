package podman

import (
	"context"
	"io"
	"strings"

	"noxmesh/host/container"
	"noxmesh/host/system"
)

// load has podman read what fill writes.
func (p Podman) load(ctx context.Context, name string, fill func(*container.Archive) error) error {
	return container.Pour(container.NewArchive, fill, func(from io.Reader) error {
		done, err := p.sys.Run(ctx, system.Command{Name: program, Args: []string{"load", "--quiet"}, Input: from})
		if err == nil && done.Code != 0 {
			err = container.Failed("podman", loadWords(done.Said), blamed(done.Said), "take in the image %q", name)
		}
		return err
	})
}

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
