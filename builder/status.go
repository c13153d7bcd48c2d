package builder

import (
	"fmt"
	"io"
	"os"
	"os/exec"
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
	fmt.Fprintf(w, "builder\t%s (%s)\n", me.Name, me.Builder)
	fmt.Fprintf(w, "mesh\t%s, key document %d\n", me.Mesh, keys.Version)
	fmt.Fprintf(w, "broker\t%s\n", me.joined.Broker)
	fmt.Fprintf(w, "registry\t%s\n", me.joined.Registry)
	fmt.Fprintf(w, "platform\t%s\n", Platform)
	fmt.Fprintf(w, "sandbox\t%s\n", sandbox)
	fmt.Fprintf(w, "answers waiting\t%d\n", len(waiting))
	return w.Flush()
}
