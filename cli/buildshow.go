package cli

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"noxmesh/api"
	"noxmesh/internal/term"
	"noxmesh/status"
)

func (s *shell) buildShow() *cobra.Command {
	return printing[api.BuildShowOut](&cobra.Command{
		Use:   "show BUILD",
		Short: "One build: what was asked for, what became of it, and the end of its log",
		Long: `One build, by its id as mesh builds shows it, by its digest or its commit, or by
the beginning of any of them: what was asked for, with everything that it was made
of; who made it, when, and how long each step took; what became of it, with what it
published; and the last lines of its log.`,
		Example: `  mesh build show 5b1e09c2
  mesh build show 5b1e09c2 -o json`,
		Args:              arguments(1, 1),
		ValidArgsFunction: each(s.buildIDs()),
		RunE: func(c *cobra.Command, args []string) error {
			out, err := ask(c.Context(), s, api.BuildShow(), api.BuildIn{Build: args[0]})
			if err != nil {
				return err
			}
			s.show(out, func() { s.showBuild(out, time.Now()) })
			return nil
		},
	})
}

func (s *shell) showBuild(b api.BuildShowOut, now time.Time) {
	s.line("%s %s  %s", s.out.Paint(term.Strong, b.Module), status.ShortCommit(b.Commit), s.stateOf(b.BuildOut))
	if words := buildWords(b.BuildOut, now); words != "" {
		s.words("  ", words)
	}
	s.line("")
	s.facts(factsOf(b, now))
	for _, is := range b.Checks {
		s.showChecked(is, now)
	}
	s.showSteps(b)
	if len(b.Artifacts) > 0 {
		t := newTable("ARTIFACT", "TYPE", "SIZE", "DIGEST")
		for _, x := range b.Artifacts {
			size := ""
			if x.Size > 0 || x.Type == "file" {
				size = term.Bytes(x.Size)
			}
			t.row(x.Name, x.Type, size, x.Digest)
		}
		s.line("")
		s.table(t)
	}
	if len(b.Closure) > 0 {
		t := newTable("BUILT AGAINST", "ARTIFACT", "DIGEST")
		for _, in := range b.Closure {
			t.row(in.Module, in.Artifact, in.Digest)
		}
		s.line("")
		s.table(t)
	}
	if len(b.Bases) > 0 {
		t := newTable("STANDS ON", "DIGEST")
		for _, base := range b.Bases {
			t.row(base.Image, base.Digest)
		}
		s.line("")
		s.table(t)
	}
	s.showLast(b)
}

// factsOf is what is known of a build, in the order in which people ask for it.
func factsOf(b api.BuildShowOut, now time.Time) [][2]string {
	return [][2]string{
		{"request", b.Request},
		{"build", b.Build},
		{"content", b.Content},
		{"provenance", b.Provenance},
		{"source", sourceOf(b)},
		{"commit", b.Commit},
		{"tree", b.Tree},
		{"platform", b.Platform},
		{"attempt", numbered(b.Attempt, b.Lost)},
		{"built in", builtInWhole(b)},
		{"network", networkOf(b.BuildOut)},
		{"builder", named(b.BuilderName, b.Builder)},
		{"asked", moment(b.Asked, now)},
		{"began", moment(b.Began, now)},
		{"ended", moment(b.Ended, now)},
		{"took", took(b.BuildOut)},
		{"usually", usually(b.Usual)},
		{"checks", b.Check},
		{"reproducible", b.Reproducible},
	}
}

func (s *shell) stateOf(b api.BuildOut) string {
	words, look := b.State, term.Plain
	if b.Verdict != "" {
		words += ", " + b.Verdict
	}
	switch {
	case b.State == "failed" || b.State == "environment" || b.Verdict == "unfit" || b.Finding != "":
		look = term.Bad
	case b.State == "built":
		look = term.Good
	}
	return s.out.Paint(look, words)
}

// facts prints what is known, one a line, with what stands before them aligned.
func (s *shell) facts(all [][2]string) {
	for _, f := range all {
		if f[1] != "" {
			s.words(fmt.Sprintf("  %-12s ", f[0]), f[1])
		}
	}
}

func (s *shell) showSteps(b api.BuildShowOut) {
	if len(b.Steps) == 0 {
		return
	}
	t := newTable("STEP", "TOOK", "USUALLY")
	for _, step := range b.Steps {
		is := ""
		if of, known := b.Usual.Of(step.Step); known {
			is = spanOf(of.Milliseconds())
		}
		t.row(step.Step, spanOf(step.Took), is)
	}
	s.line("")
	s.table(t)
}

// spanOf is a length of time of which tenths of a second are of interest.
func spanOf(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	if d >= time.Second && d < time.Minute {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	if d >= time.Minute && d < time.Hour {
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	}
	return term.Span(d)
}

func (s *shell) showLast(b api.BuildShowOut) {
	if !b.LogRemoved.IsZero() {
		s.out.Note("its log was removed by retention on %s", b.LogRemoved.UTC().Format(time.DateOnly))
	}
	if b.Last == "" {
		return
	}
	s.line("")
	for line := range strings.Lines(b.Last) {
		s.line("  | %s", term.Clean(strings.TrimRight(line, "\n")))
	}
	s.out.Hint("mesh logs %s shows all of its log, %s", short(b.Request), term.Bytes(b.LogHeld))
}

// usually is how long builds of a module take.
func usually(u *api.UsualOut) string {
	if u == nil {
		return ""
	}
	if u.Builds == 1 {
		return spanOf(u.Took) + ", the one that ended well"
	}
	return fmt.Sprintf("%s, by the last %d that ended well", spanOf(u.Took), u.Builds)
}

// sourceOf is where a build was cloned from.
func sourceOf(b api.BuildShowOut) string {
	words := b.Repository
	if b.Ref != "" {
		words += " " + b.Ref
	}
	if b.Folder != "" {
		words += ", folder " + b.Folder
	}
	return words
}

func numbered(attempt, lost int64) string {
	words := fmt.Sprintf("%d", attempt)
	if lost > 0 {
		words += fmt.Sprintf(", %d leases were lost", lost)
	}
	return words
}

func builtInWhole(b api.BuildShowOut) string {
	switch {
	case b.Own:
		return "own: " + status.OwnSays
	case b.Environment == "":
		return "nothing: it runs no commands"
	case b.Image == "":
		return b.Environment
	}
	return b.Image + "@" + b.Environment
}

func networkOf(b api.BuildOut) string {
	switch {
	case b.Network:
		return "the build " + status.NetworkSays
	case b.Build == "":
		return "" // not said before it is made
	}
	return "none"
}

func named(name, id string) string {
	if name == "" || id == "" || name == id {
		return cmp.Or(name, id)
	}
	return name + " (" + id + ")"
}

// moment is a time, and how long ago that is.
func moment(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339) + " (" + term.Ago(now.Sub(t)) + ")"
}
