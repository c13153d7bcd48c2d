package cli

import (
	"time"

	"github.com/spf13/cobra"

	"noxmesh/api"
	"noxmesh/internal/term"
	"noxmesh/status"
)

// lookEvery is how often a waiting command asks. The answer is made of the
// record alone and costs the controller little.
const lookEvery = 300 * time.Millisecond

func (s *shell) wait() *cobra.Command {
	wait, commit := 10*time.Minute, ""
	c := &cobra.Command{
		Use:   "wait MODULE",
		Short: "Wait until a module's newest source is applied on every node that it belongs on",
		Long: `Wait until the module's newest source, or the commit given, is built, declared, and applied on every node that it
belongs on. It ends with 0 only then, with 3 as soon as the build is unfit, and with 4 when the time has run out.
` + term.ExitHelp(),
		Example: "  mesh wait site\n  mesh wait site --commit $(git rev-parse HEAD) --for 2m",
		Args:    arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			return s.waitFor(c, args[0], commit, wait)
		},
	}
	c.Flags().DurationVar(&wait, "for", wait, "how long to wait")
	c.Flags().StringVar(&commit, "commit", "", "the `commit` that has to be out, in full")
	return c
}

func (s *shell) waitFor(c *cobra.Command, module, commit string, wait time.Duration) error {
	deadline := time.Now().Add(wait)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		st, err := ask(c.Context(), s, api.Status(), api.StatusIn{Module: module})
		if err != nil {
			return err
		}
		m := st.Modules[0]
		out := st.Unwell == nil && m.Out() && (commit == "" || m.Source.Commit == commit)
		unfit := m.Built != nil && m.Built.Current && m.Built.Verdict == "unfit" && (commit == "" || m.Source.Commit == commit)
		if out || unfit || time.Now().After(deadline) {
			s.late, s.bad = !out && !unfit, unfit
			s.show(m, func() { s.showWaited(m, st.At) })
			return nil
		}
		s.out.Progress("%s %s", m.Module, m.Line())
		select {
		case <-tick.C:
		case <-c.Context().Done():
			return c.Context().Err()
		}
	}
}

func (s *shell) showWaited(m status.Module, now time.Time) {
	s.line("%s %s", s.out.Paint(term.Strong, m.Module), s.lineColour(m))
	if !m.Out() {
		s.showWaiting(m, now)
		s.showOn(m, now, true)
	}
}
