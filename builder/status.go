package builder

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"text/tabwriter"

	"noxmesh/internal/fault"
)

// Status writes who the builder with this state is and what waits there. It
// changes nothing, and a builder may be running meanwhile.
func Status(c Config, out io.Writer) error {
	s := state{c.State}
	if _, err := os.Stat(s.dir); err != nil {
		return fault.Wrap(fault.NotFound, err, "read the state folder %q", s.dir).With("mesh-builder join TOKEN makes it")
	}
	me, keys, err := s.member()
	if err != nil {
		return err
	}
	waiting, err := s.peek()
	if err != nil {
		return err
	}
	sandbox := "bwrap is not on this machine (" + remedy + ")"
	if program, err := exec.LookPath("bwrap"); err == nil {
		sandbox = program
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	for _, row := range [][2]string{
		{"builder", me.Name + " (" + me.Builder + ")"},
		{"mesh", fmt.Sprintf("%s, key document %d", me.Mesh, keys.Version)},
		{"broker", me.joined.Broker},
		{"registry", me.joined.Registry},
		{"platform", Platform},
		{"sandbox", sandbox},
		{"answers waiting", strconv.Itoa(len(waiting))},
	} {
		if _, err := fmt.Fprintf(w, "%s\t%s\n", row[0], row[1]); err != nil {
			return fault.Wrap(fault.Unavailable, err, "write the status")
		}
	}
	return w.Flush()
}
