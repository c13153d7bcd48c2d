package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"noxmesh/api"
	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/internal/term"
	"noxmesh/inventory"
	"noxmesh/report"
	"noxmesh/status"
)

func (s *shell) status() *cobra.Command {
	return printing[api.StatusOut](&cobra.Command{
		Use:   "status [MODULE|NODE]",
		Short: "Did it go out? Every module and every node, or one",
		Long: `One line a module: what source exists, what was built from it, whether it is fit,
on how many nodes it is declared, and on how many it is applied, which each of
them has read back and signed.

A node is "never told" when nobody has asked it to be anything, and "out of
date" when it was sent something and would now be sent something else: mesh push
--behind acts on just these. What cannot be worked out is in mesh plan.

A name that both a module and a node have is the module's.`,
		Example: `  mesh status
  mesh status site
  mesh status laptop -o json`,
		Args:              arguments(0, 1),
		ValidArgsFunction: each(both(s.moduleNames(), s.nodeNames())),
		RunE: func(c *cobra.Command, args []string) error {
			st, ofNode, err := s.askStatus(c, args)
			if err != nil {
				return err
			}
			for _, m := range st.Modules { // asked of a node, its modules may fail on others
				s.bad = s.bad || m.Bad() && !ofNode
			}
			s.bad = s.bad || st.Unwell != nil || st.Registry != nil
			for _, n := range st.Nodes {
				s.bad = s.bad || n.Bad()
			}
			s.show(st, func() {
				if ofNode { // where else its modules are is another question
					st = onlyOn(st)
				}
				s.showStatus(st, len(args) == 1)
			})
			return nil
		},
	})
}

// askStatus asks about everything, or about the module or else the node of that name.
func (s *shell) askStatus(c *cobra.Command, args []string) (st status.Status, ofNode bool, err error) {
	if len(args) == 0 {
		st, err = ask(c.Context(), s, api.Status(), api.StatusIn{})
		return st, false, err
	}
	st, err = ask(c.Context(), s, api.Status(), api.StatusIn{Module: args[0]})
	if fault.KindOf(err) != fault.NotFound {
		return st, false, err
	}
	st, e := ask(c.Context(), s, api.Status(), api.StatusIn{Node: args[0]})
	if fault.KindOf(e) != fault.NotFound {
		return st, true, e
	}
	none := fault.New(fault.NotFound, "there is no module and no node %q", document.Short(args[0])).With("mesh status shows all of them")
	for _, e := range []error{err, e} { // either may know a name that is near
		if hint := fault.HintOf(e); hint != "" {
			none.Hint = hint
		}
	}
	return st, false, none
}

// onlyOn is the status of nodes without what their modules are on others.
func onlyOn(st status.Status) status.Status {
	st.Modules = slices.Clone(st.Modules)
	for i := range st.Modules {
		m := &st.Modules[i]
		m.Nodes = slices.DeleteFunc(slices.Clone(m.Nodes), func(on status.On) bool {
			return !slices.ContainsFunc(st.Nodes, func(n status.Node) bool { return n.Node == on.Node })
		})
	}
	return st
}

// showUnwell says first what makes all that follows old.
func (s *shell) showUnwell(st status.Status) {
	for _, u := range []struct {
		what string
		is   *status.Unwell
	}{{"nothing is recorded", st.Unwell}, {"nothing is published", st.Registry}} {
		if u.is != nil {
			s.line("%s %s", s.out.Paint(term.Bad, u.what+" since "+term.Ago(st.At.Sub(u.is.Since))+":"), term.Clean(u.is.Why))
		}
	}
}

func (s *shell) showStatus(st status.Status, one bool) {
	s.showUnwell(st)
	if st.Recovering != "" {
		s.line("%s %s", s.out.Paint(term.Bad, "nothing is declared:"), term.Clean(st.Recovering))
	}
	if len(st.Modules)+len(st.Nodes) == 0 {
		s.out.Note("no modules and no nodes yet")
		s.out.Hint("mesh module add NAME REPOSITORY, mesh node add NAME, mesh assign MODULE NODE")
		return
	}
	for _, m := range st.Modules {
		s.line("%s %s", s.out.Paint(term.Strong, m.Module), s.lineColour(m))
		if e := m.Environment; e != nil && (one || e.Moved()) {
			s.line("  %s", term.Clean(e.Words()))
		}
		s.showWaiting(m, st.At)
		if one || m.Failed > 0 || m.Outstanding > 0 || slices.ContainsFunc(m.Nodes, quarantined) {
			s.showOn(m, st.At, one)
		}
	}
	if len(st.Nodes) > 0 {
		if len(st.Modules) > 0 {
			s.line("")
		}
		s.showNodes(st)
	}
}

func (s *shell) lineColour(m status.Module) string {
	switch {
	case m.Bad():
		return s.out.Paint(term.Bad, m.Line())
	case m.Out():
		return s.out.Paint(term.Good, m.Line())
	}
	return m.Line()
}

// waitWords stand before what is waited for: they say for how long, where that is known.
func waitWords(since, now time.Time) string {
	if since.IsZero() {
		return "waits for "
	}
	return "has waited " + term.Span(now.Sub(since)) + " for "
}

// showWaiting says what has to happen first, since when, and what fails. What
// fails is often what is waited for: then its words are said once.
func (s *shell) showWaiting(m status.Module, now time.Time) {
	said := ""
	for _, n := range m.Source.Notices {
		s.words("  since "+term.Ago(now.Sub(n.Since))+": ", n.Says)
	}
	for _, w := range m.Waiting {
		said += w.For + "\n"
		s.words("  "+waitWords(w.Since, now), w.For)
	}
	if b := m.Building; b != nil && b.Step != "" {
		s.line("  build %s on %s: %s", short(b.Request), term.Clean(b.Builder), term.Clean(doingWords(b.Step, now.Sub(b.StepSince), b.Usual)))
	}
	for _, l := range m.Lost {
		s.words("  "+s.lostWord(l, now), l.Words())
	}
	for _, t := range m.Trouble {
		word := troubleWord(t, now)
		why := m.Source.Why
		if e := m.Environment; e != nil && why == "" {
			why = e.Why
		}
		if why != "" && strings.Contains(said, why) && strings.HasSuffix(t.Says, why) {
			s.line("  %s", s.out.Paint(term.Bad, word))
			continue
		}
		s.words("  "+s.out.Paint(term.Bad, word+":")+" ", t.Says)
	}
	if m.Finding != "" {
		s.words("  "+s.out.Paint(term.Bad, "finding:")+" ", m.Finding)
	}
}

// lostWord stands before a build that the registry does not have: since when, where that is known.
func (s *shell) lostWord(l status.Lost, now time.Time) string {
	word := "lost: "
	if !l.Since.IsZero() {
		word = "lost since " + term.Ago(now.Sub(l.Since)) + ": "
	}
	if l.Mends {
		return word
	}
	return s.out.Paint(term.Bad, word)
}

func troubleWord(t status.Trouble, now time.Time) string {
	word := "failing"
	if t.Stuck {
		word = "stuck"
	}
	return fmt.Sprintf("%s, %d in a row, for %s", word, t.Count, term.Span(now.Sub(t.Since)))
}

func quarantined(on status.On) bool { return on.Finding != "" }

func (s *shell) showOn(m status.Module, now time.Time, all bool) {
	for _, on := range m.Nodes {
		if quarantined(on) {
			s.words("  "+on.Name+": "+s.out.Paint(term.Bad, "quarantined")+": ", on.Finding)
		}
		if on.HeldBack != "" {
			s.words("  "+on.Name+": ", on.HeldBack)
		}
		switch {
		case on.Commit == "":
			if all {
				s.line("  %s: not declared there", on.Name)
			}
		case on.Standing == inventory.Applied:
			if all {
				s.line("  %s: %s applied %s", on.Name, m.From(on.Commit, on.Build), term.Ago(now.Sub(on.At)))
			}
		case on.Standing == inventory.Failed:
			s.words("  "+on.Name+": "+s.out.Paint(term.Bad, "failed")+" ", on.Why)
		case on.LastSeen.IsZero():
			s.line("  %s: outstanding, never seen", on.Name)
		default:
			s.line("  %s: outstanding, last seen %s", on.Name, term.Ago(now.Sub(on.LastSeen)))
		}
	}
}

func (s *shell) showNodes(st status.Status) {
	t := newTable("NODE", "STATE", "LAST SEEN", "MODULES", "")
	for _, n := range st.Nodes {
		t.row(n.Name, n.State, seen(n.LastSeen, st.At), joined(n.Modules), nodeWords(n, st.At))
	}
	s.table(t)
	for _, n := range st.Nodes {
		s.showReasons("  "+n.Name+": ", n, st.At)
		for _, f := range n.Failing {
			begin := "  " + n.Name + ": " + f.State + " " + term.Clean(f.Resource)
			if f.Error != "" {
				begin += ": "
			}
			s.words(begin, f.Error)
		}
		for _, c := range n.Contested {
			s.words("  "+n.Name+": contested "+term.Clean(c.Resource)+": ", c.Words())
		}
	}
}

// showReasons says what stands against a module on a node.
func (s *shell) showReasons(begin string, n status.Node, now time.Time) {
	for _, r := range n.Reasons {
		s.words(begin+term.Clean(r.Module)+" is not worked out"+span(r.Since, now)+": ", r.Why)
	}
}

// nodeWords is what there is to say of a node beside its state.
func nodeWords(n status.Node, now time.Time) string {
	var words []string
	if n.Trouble != nil {
		words = append(words, troubleWord(*n.Trouble, now))
	}
	if n.Deaf != nil {
		words = append(words, troubleWord(*n.Deaf, now)+": "+n.Deaf.Says)
	}
	if n.Finding != "" {
		words = append(words, n.Finding)
	}
	if n.Outcome == string(report.OutcomeConfirming) {
		words = append(words, "confirming: version "+n.Host+" of its host is new there, and has not completed one reconcile")
	}
	if n.Refused != "" {
		words = append(words, "refused: "+n.Refused)
	}
	if n.Unwell != "" {
		words = append(words, n.Unwell)
	}
	if n.Removal != nil {
		words = append(words, n.Removal.Words())
	}
	if n.ClockAhead != 0 {
		words = append(words, clockWords(n))
	}
	if n.Drift > 0 {
		words = append(words, fmt.Sprintf("drift found in %d and put back", n.Drift))
	}
	if n.NotWorkedOut > 0 {
		words = append(words, "see mesh plan "+n.Name)
	}
	return strings.Join(words, "; ")
}

// clockWords says how a node's clock stands to the controller's. Nothing is
// decided by it, but whoever reads that machine's logs is misled.
func clockWords(n status.Node) string {
	by, which := time.Duration(n.ClockAhead)*time.Second, "ahead"
	if by < 0 {
		by, which = -by, "behind"
	}
	return "clock of " + n.Name + " differs by " + term.Span(by) + " (" + which + ")"
}
