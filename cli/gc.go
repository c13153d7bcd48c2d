package cli

import (
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"noxmesh/api"
	"noxmesh/internal/term"
	"noxmesh/status"
)

func (s *shell) gc() *cobra.Command {
	in := api.CollectIn{}
	c := &cobra.Command{
		Use:   "gc",
		Short: "Take away from the registry what nothing names, and from the record what is too old",
		Long: `Take away from the registry what nothing names. The controller does it once a day
by itself. A build keeps its bytes while it is declared, while a declare-write names
it, while a node has it or may still fetch it, while it is the newest, the newest
fit or the current one of its module, while one that is kept is built against it,
and in any case for a day and as long as a build may take. What is being pushed or
pulled is let finish. A build without bytes stays in the record as collected, and
cannot be declared.

The record keeps every build that has bytes or can be declared, and of the others
the newest 1000 of each module with their logs, as long as all logs have room in
1 GiB (mesh-controller run --keep-builds, --keep-logs). mesh builds says how many
have left it.`,
		Example: `  mesh gc --dry-run
  mesh gc
  mesh gc --dry-run -o json`,
		Args:              arguments(0, 0),
		ValidArgsFunction: each(),
		RunE: func(c *cobra.Command, _ []string) error {
			out, err := ask(c.Context(), s, api.Collect(), in)
			if err != nil {
				return err
			}
			s.show(out, func() { s.showCollected(out, time.Now()) })
			return nil
		},
	}
	c.Flags().BoolVar(&in.Look, "dry-run", false, "take nothing away, and say what would be")
	return printing[api.CollectOut](c)
}

// keptBecause is each reason for keeping a build, in words.
func keptBecause(why string) string {
	switch why {
	case "declared":
		return "declared on a node"
	case "told":
		return "a node has it, or may still fetch it"
	case "written":
		return "a declare-write names it"
	case "current":
		return "current"
	case "fit":
		return "newest that is fit"
	case "newest":
		return "newest"
	case "input":
		return "others are built against it"
	case "young":
		return "young"
	}
	return why
}

func (s *shell) showCollected(out api.CollectOut, now time.Time) {
	t := newTable("KEPT BECAUSE", "BUILDS")
	for _, r := range out.Reasons {
		t.row(keptBecause(r.Why), strconv.Itoa(r.Builds))
	}
	s.table(t)
	if len(out.Builds) > 0 {
		t := newTable("COLLECTED", "MODULE", "COMMIT", "BUILT")
		for _, b := range out.Builds {
			t.row(short(b.Request), b.Module, status.ShortCommit(b.Commit), term.Ago(now.Sub(b.At)))
		}
		s.line("")
		s.table(t)
	}
	would := "took"
	if out.Look {
		would = "would take"
	}
	s.out.Note("%s away %d builds: %d blobs, %s; %d builds stay: %d blobs, %s", would,
		len(out.Builds), out.Blobs, term.Bytes(out.Bytes), len(out.Kept), out.KeptBlobs, term.Bytes(out.KeptBytes))
	if out.Lines+out.Logs > 0 {
		s.out.Note("%s %d old builds out of the record, and %d logs of others: %s of logs", would, out.Lines, out.Logs, term.Bytes(out.LogBytes))
	}
	if len(out.Busy) > 0 {
		s.out.Note("nothing was taken of what is being built: %s", strings.Join(out.Busy, ", "))
	}
}
