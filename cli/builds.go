package cli

import (
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"noxmesh/api"
	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/internal/term"
	"noxmesh/status"
)

// mostBuilds is how many builds one answer holds.
const mostBuilds = 1000

func (s *shell) builds() *cobra.Command {
	in, since := api.BuildsIn{Limit: 20}, ""
	c := &cobra.Command{
		Use:   "builds [MODULE]",
		Short: "Past builds, newest first",
		Long: `Past builds, newest first: also those that failed, and those that wait for a
builder. mesh build show shows one of them whole.`,
		Example: `  mesh builds
  mesh builds site --last 100
  mesh builds --failed --since 2h
  mesh builds site --before 5b1e09c2`,
		Args:              arguments(0, 1),
		ValidArgsFunction: each(s.moduleNames()),
		RunE: func(c *cobra.Command, args []string) error {
			if in.Limit < 1 || in.Limit > mostBuilds {
				return fault.New(fault.Invalid, "--last is %d, want 1 to %d", in.Limit, mostBuilds)
			}
			now := time.Now()
			from, err := sinceOf(since, now)
			if err != nil {
				return err
			}
			if !from.IsZero() {
				in.Since = from.UnixMilli()
			}
			in.Module = first(args)
			out, err := ask(c.Context(), s, api.Builds(), in)
			if err != nil {
				return err
			}
			none := "nothing has been built yet"
			if in.Failed || in.Since != 0 || in.Before != "" {
				none = "no such build is recorded"
			}
			s.show(out, func() { s.showBuilds(out, none, now) })
			return nil
		},
	}
	c.Flags().IntVar(&in.Limit, "last", in.Limit, "how many")
	c.Flags().BoolVar(&in.Failed, "failed", false, "only those that failed, that no builder could make, or whose tests failed")
	c.Flags().StringVar(&since, "since", "", "only those asked for since this `time`: 90m, 2h, 3d, 2026-11-30, or 2026-11-30T12:00:00Z")
	c.Flags().StringVar(&in.Before, "before", "", "only those older than this `build`: the next page")
	s.completes(c, "before", s.buildIDs())
	return printing[api.BuildsOut](c)
}

// sinceOf is the time that somebody means: so long ago, that day here, or that
// moment. Of nothing it is the zero time.
func sinceOf(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n <= mostDays {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, form := range []string{time.DateOnly, "2006-01-02 15:04", time.RFC3339} {
		if t, err := time.ParseInLocation(form, text, now.Location()); err == nil && t.Year() >= firstYear {
			return t, nil
		}
	}
	return time.Time{}, fault.New(fault.Invalid, "--since is %q, want how long ago or a date", document.Short(text)).
		With("90m, 2h, 3d, 2026-11-30, \"2026-11-30 12:00\", or 2026-11-30T12:00:00Z")
}

// What a person may mean by since.
const (
	mostDays  = 100_000
	firstYear = 1971
)

func (s *shell) showBuilds(out api.BuildsOut, none string, now time.Time) {
	if len(out.Builds) == 0 {
		s.out.Note("%s", none)
		s.noteRemoved(out, now)
		return
	}
	own, network := false, false
	t := newTable("BUILD", "MODULE", "COMMIT", "STATE", "VERDICT", "IN", "ASKED", "TOOK", "SIZE", "")
	for _, b := range out.Builds {
		own, network = own || b.Own, network || b.Network
		t.row(short(b.Request), b.Module, status.ShortCommit(b.Commit), b.State, b.Verdict, builtIn(b), term.Ago(now.Sub(b.Asked)), took(b), sizeOf(b), firstLine(buildWords(b, now)))
	}
	s.table(t)
	if own {
		s.out.Note("own: %s", status.OwnSays)
	}
	if network {
		s.out.Note("network: the build %s", status.NetworkSays)
	}
	s.noteRemoved(out, now)
	if out.More {
		s.out.Hint("there are older ones: --before %s", short(out.Builds[len(out.Builds)-1].Request))
	}
}

// noteRemoved says behind the oldest what there was besides.
func (s *shell) noteRemoved(out api.BuildsOut, now time.Time) {
	if out.More {
		return
	}
	builds, logs, last := int64(0), int64(0), time.Time{}
	for _, r := range out.Removed {
		builds, logs = builds+r.Builds, logs+r.Logs
		if r.At.After(last) {
			last = r.At
		}
	}
	if builds > 0 {
		s.out.Note("%d older ones were removed by retention, the last %s", builds, term.Ago(now.Sub(last)))
	}
	if logs > 0 {
		s.out.Note("the logs of %d were removed by retention", logs)
	}
}

// took is how long a build took, where it has ended.
func took(b api.BuildOut) string {
	if b.Ended.IsZero() || b.Began.IsZero() {
		return ""
	}
	return term.Span(b.Ended.Sub(b.Began))
}

// sizeOf is how much a build has published.
func sizeOf(b api.BuildOut) string {
	all := int64(0)
	for _, x := range b.Artifacts {
		all += x.Size
	}
	if all == 0 {
		return ""
	}
	return term.Bytes(all)
}

// buildWords is what there is to say of a build.
func buildWords(b api.BuildOut, now time.Time) string {
	words := b.Why
	if b.Check != "" {
		words = joinedWords(words, "a check of "+short(b.Check))
	}
	if d := b.Doing; d != nil {
		words = joinedWords(words, doingWords(d.Step, now.Sub(d.Since), b.Usual))
	}
	if b.Step != "" {
		words = b.Step + ": " + words
	}
	if b.Finding != "" {
		words = "finding: " + b.Finding
	}
	if b.Moved != "" {
		words = joinedWords(words, b.Moved)
	}
	if b.Build != "" && b.Provenance == "" {
		words = joinedWords(words, "no provenance")
	}
	if !b.Collected.IsZero() {
		words = joinedWords(words, "collected "+term.Ago(now.Sub(b.Collected)))
	}
	return words
}

// doingWords say where a build is that is being made, and what is usual.
func doingWords(step string, elapsed time.Duration, usual *api.UsualOut) string {
	words := step + " for " + term.Span(elapsed)
	if of, known := usual.Of(step); known {
		words += ", usually " + spanOf(of.Milliseconds())
	}
	if usual != nil {
		words += "; a whole build usually takes " + spanOf(usual.Took)
	}
	return words
}

// builtIn is what the commands of a build ran in, in a word or two.
func builtIn(b api.BuildOut) string {
	in := short(b.Environment)
	if b.Own {
		in = "own"
	}
	if b.Network {
		in += "+network"
	}
	return in
}

func joinedWords(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
