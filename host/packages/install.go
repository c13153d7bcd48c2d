package packages

import (
	"context"
	"slices"
	"strings"
	"time"

	"noxmesh/host/system"
)

const limit = 10 * time.Minute // for one run about any number of packages

// Want is a package that is to be installed.
type Want struct {
	Name    string // with its architecture after a colon, where that is not the machine's
	Version string // any one where it is not said
	Replace bool   // what somebody has changed of its configuration files is replaced, and not kept
	Again   bool   // it is installed once more also where it is: nobody has seen that come to its end

	not    string // the installation that will not do
	repeat string // the version that is installed once more, where it is to be
}

// isRight reports whether it is installed as wanted.
func (w Want) isRight(in Installed) bool {
	p := in.Of(w.Name)
	return p.Right() && (w.Version == "" || w.Version == p.Version) && (w.not == "" || w.not != p.instance)
}

// Outcome is what came of it, by the name that was wanted.
type Outcome struct {
	Failed map[string]error
	Says   map[string][]string // beside
}

// hand is what one package manager does in an installation.
type hand interface {
	Read(ctx context.Context, names []string) (Installed, error)
	// together installs all of these or none, in one run.
	together(ctx context.Context, wanted []Want) (system.Done, error)
	// says is what became of configuration files that somebody had changed.
	says(out string, wanted []Want) map[string][]string
	// halved is why one that is installed is not whole, where the run says so and nothing else will.
	halved(w Want, done system.Done) error
	// stale reports whether what is known of the sources may be why a run failed.
	stale(done system.Done) bool
	update(ctx context.Context) error
	// blames reports whether the package is named with what stands against it.
	blames(name, out string) bool
	why(ctx context.Context, w Want, done system.Done) error
}

// installation is that of several packages, from the first look at the locks.
type installation struct {
	Outcome
	hand    hand
	updated bool
}

func installationBy(h hand) *installation {
	return &installation{hand: h, Outcome: Outcome{Failed: map[string]error{}, Says: map[string][]string{}}}
}

// install installs them together, or each by itself where that fails, so that one does
// not stand against the others.
func (r *installation) install(ctx context.Context, wanted []Want) error {
	left, done, err := r.together(ctx, wanted)
	if err == nil && len(left) > 0 && !r.updated && r.hand.stale(done) {
		r.updated = true
		if err = r.hand.update(ctx); err == nil {
			left, done, err = r.together(ctx, left)
		}
	}
	switch {
	case err != nil || len(left) == 0:
		return err
	case len(wanted) == 1:
		r.Failed[left[0].Name] = r.hand.why(ctx, left[0], done)
		return nil
	}
	return r.apiece(ctx, left, done)
}

// apiece is about those that could not be installed together, as the run has said.
// Two that need each other come only together: those that it does not name go first.
func (r *installation) apiece(ctx context.Context, left []Want, done system.Done) error {
	rest := slices.DeleteFunc(slices.Clone(left), func(w Want) bool { return r.hand.blames(w.Name, done.Out) })
	if len(rest) > 1 && len(rest) < len(left) {
		still, _, err := r.together(ctx, rest)
		if err != nil {
			return err
		}
		left = slices.DeleteFunc(left, func(w Want) bool { return slices.Contains(rest, w) && !slices.Contains(still, w) })
	}
	for _, w := range left {
		still, done, err := r.together(ctx, []Want{w})
		if err != nil {
			return err
		}
		if len(still) > 0 {
			r.Failed[w.Name] = r.hand.why(ctx, w, done)
		}
	}
	return nil
}

// together is one run. Left is what is not as wanted after it, and may be after another.
func (r *installation) together(ctx context.Context, wanted []Want) (left []Want, done system.Done, err error) {
	if done, err = r.hand.together(ctx, wanted); err != nil {
		return wanted, done, err
	}
	for name, says := range r.hand.says(done.Out, wanted) {
		r.Says[name] = append(r.Says[name], says...)
	}
	in, err := r.hand.Read(ctx, names(wanted))
	if err != nil {
		return wanted, done, err
	}
	for _, w := range wanted {
		if !w.isRight(in) {
			left = append(left, w)
		} else if why := r.hand.halved(w, done); why != nil {
			r.Failed[w.Name] = why
		}
	}
	return left, done, nil
}

func names(wanted []Want) []string {
	out := make([]string, 0, len(wanted))
	for _, w := range wanted {
		out = append(out, w.Name)
	}
	return out
}

// bare is a name without its architecture.
func bare(name string) string {
	name, _, _ = strings.Cut(name, ":")
	return name
}
