package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"noxmesh/api"
	"noxmesh/internal/fault"
	"noxmesh/internal/term"
	"noxmesh/status"
)

// lookEvery is how often a waiting command asks. The answer is made of the
// record alone and costs the controller little.
const lookEvery = 300 * time.Millisecond

// waiting is what one mesh wait waits for.
type waiting struct {
	module string
	commit string        // that has to be out; empty for whatever source there is
	built  bool          // until it is built and fit, and no further
	limit  time.Duration // for how long
}

func (s *shell) wait() *cobra.Command {
	w := waiting{limit: 10 * time.Minute}
	c := &cobra.Command{
		Use:   "wait MODULE",
		Short: "Wait until a module's newest source is applied everywhere",
		Long: `Wait until the module's newest source is built, declared, and applied on every
node that it belongs on. The newest is what a look finds that begins after this
command: mesh wait asks for one. With --commit: until just that commit is out.

It ends with 0 only then, with 3 as soon as the build is unfit, and with 4 when
the time has run out.`,
		Example: `  mesh wait site
  mesh wait site --commit $(git rev-parse HEAD) --for 2m
  mesh wait site --built && mesh declare site`,
		Args:              arguments(1, 1),
		ValidArgsFunction: each(s.moduleNames()),
		RunE: func(c *cobra.Command, args []string) error {
			w.module = args[0]
			if w.limit < 0 {
				return fault.New(fault.Invalid, "--for is %s, want 0 or more", w.limit)
			}
			return s.waitFor(c.Context(), w)
		},
	}
	c.Flags().DurationVar(&w.limit, "for", w.limit, "how long to wait")
	c.Flags().StringVar(&w.commit, "commit", "", "the `commit` that has to be out, in full")
	c.Flags().BoolVar(&w.built, "built", false, "only until it is built and fit, whatever is declared")
	s.completes(c, "commit", oneOf())
	return printing[status.Module](c)
}

func (s *shell) waitFor(ctx context.Context, w waiting) error {
	deadline := time.Now().Add(w.limit)
	st, err := s.moduleStatus(ctx, w.module)
	if err != nil {
		return err
	}
	// The controller's clock is the one that its looks are told by.
	asked := st.At
	if err := s.lookNow(ctx, w.module); err != nil {
		return err
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for fresh := w.commit != ""; ; {
		m := st.Modules[0]
		there, unfit := w.judge(m)
		done := there || unfit
		if (done && fresh) || time.Now().After(deadline) {
			s.late, s.bad = !done || !fresh, done && fresh && unfit
			s.showEnd(m, st.At, done, fresh)
			return nil
		}
		// What a look finds is in the record a moment after the look is over, so
		// that the answer after the one that tells of it is the one that counts.
		fresh = fresh || m.Source.LookedAt.After(asked)
		s.out.Progress("%s %s", m.Module, m.Line())
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if st, err = s.statusAfter(ctx, w.module, st, deadline); err != nil {
			return err
		}
	}
}

// lookNow asks for a look at the module's source. A viewer may not, and waits
// for the next.
func (s *shell) lookNow(ctx context.Context, module string) error {
	_, err := ask(ctx, s, api.ModuleLook(), api.LookIn{Module: module})
	if fault.KindOf(err) == fault.Denied {
		return nil
	}
	return err
}

func (s *shell) showEnd(m status.Module, at time.Time, done, fresh bool) {
	s.show(m, func() { s.showWaited(m, at, done) })
	if done && !fresh {
		s.out.Note("in this time its source was not looked at again")
	}
}

// statusAfter is the status after st. A controller that does not answer may be
// starting again, and is waited for until the deadline.
func (s *shell) statusAfter(ctx context.Context, module string, st status.Status, deadline time.Time) (status.Status, error) {
	next, err := s.moduleStatus(ctx, module)
	if fault.KindOf(err) == fault.Unavailable && time.Now().Before(deadline) {
		return st, nil
	}
	return next, err
}

// judge says whether what is waited for is there, or can't come to be without a new commit.
func (w waiting) judge(m status.Module) (there, unfit bool) {
	if w.commit != "" && m.Source.Commit != w.commit {
		return false, false
	}
	built := m.Source.State == "read" && m.Built != nil && m.Built.Current
	unfit = built && m.Built.Verdict == "unfit"
	if w.built {
		return built && strings.HasPrefix(m.Built.Verdict, "fit"), unfit
	}
	return m.Out(), unfit
}

func (s *shell) moduleStatus(ctx context.Context, module string) (status.Status, error) {
	st, err := ask(ctx, s, api.Status(), api.StatusIn{Module: module})
	if err == nil && len(st.Modules) == 0 {
		return st, fault.New(fault.Broken, "the controller answered without module %q", module)
	}
	return st, err
}

func (s *shell) showWaited(m status.Module, now time.Time, done bool) {
	s.line("%s %s", s.out.Paint(term.Strong, m.Module), s.lineColour(m))
	if !done {
		s.showWaiting(m, now)
		s.showOn(m, now, true)
	}
}
