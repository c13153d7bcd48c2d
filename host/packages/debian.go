package packages

import (
	"context"
	"slices"
	"strings"
	"time"

	"noxmesh/host/system"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// Installed by apt, and removed by dpkg, which refuses to take anything else along.
const (
	aptGet = "apt-get"
	dpkg   = "dpkg"

	limit = 10 * time.Minute // for one run about any number of packages
)

// Debian is a machine with apt and dpkg.
type Debian struct{ sys *system.Root }

// Of is the package manager of a machine.
func Of(sys *system.Root) Debian { return Debian{sys} }

// Want is a package that is to be installed.
type Want struct {
	Name    string // with its architecture after a colon, where that is not the machine's
	Version string // any one where it is not said
	Replace bool   // what somebody has changed of its configuration files is replaced, and not kept
}

// isRight reports whether it is installed as wanted.
func (w Want) isRight(in Installed) bool {
	p := in.Of(w.Name)
	return p.Right() && (w.Version == "" || w.Version == p.Version)
}

// Outcome is what came of it, by the name that was wanted.
type Outcome struct {
	Failed map[string]error
	Says   map[string][]string // beside
}

// installation is that of several packages, from the first look at the locks.
type installation struct {
	Debian
	Outcome
	updated bool
	missed  string // what the update could not fetch
	refused error  // by which disk the update was
}

// Install installs them together, or each by itself where that fails, so that one
// does not stand against the others. It removes nothing and asks nothing. An error
// is about all of them.
func (d Debian) Install(ctx context.Context, wanted []Want) (Outcome, error) {
	r := &installation{Debian: d, Outcome: Outcome{Failed: map[string]error{}, Says: map[string][]string{}}}
	if err := d.free(ctx); err != nil {
		return r.Outcome, err
	}
	if err := r.finish(ctx, wanted); err != nil {
		return r.Outcome, err
	}
	in, err := d.Read(names(wanted))
	if err != nil {
		return r.Outcome, err
	}
	for _, replace := range []bool{false, true} {
		some := slices.DeleteFunc(slices.Clone(wanted), func(w Want) bool { return w.Replace != replace || w.isRight(in) })
		if len(some) == 0 {
			continue
		}
		if err := r.install(ctx, some); err != nil {
			return r.Outcome, err
		}
	}
	return r.Outcome, nil
}

// finish has dpkg finish what it was ended in the middle of, or has failed to
// configure. What it cannot is for the installation to say.
func (r *installation) finish(ctx context.Context, wanted []Want) error {
	in, err := r.Read(nil)
	if err != nil || !in.unfinished() {
		return err
	}
	if err := effect.Do("packages.dpkg.finish", func() error {
		_, err := r.run(ctx, dpkg, "--configure", "--pending", "--force-confdef", "--force-confold")
		return err
	}); err != nil {
		return err
	}
	if in.cut {
		for _, w := range wanted {
			r.Says[w.Name] = append(r.Says[w.Name], "dpkg had been ended in the middle of its work, and was let finish it first")
		}
	}
	return nil
}

// install is that of packages with one policy about their configuration files.
func (r *installation) install(ctx context.Context, wanted []Want) error {
	left, done, err := r.together(ctx, wanted)
	if err == nil && len(left) > 0 && !r.updated && isStale(done) {
		if err = r.update(ctx); err == nil {
			left, done, err = r.together(ctx, left)
		}
	}
	switch {
	case err != nil || len(left) == 0:
		return err
	case len(wanted) == 1:
		r.Failed[left[0].Name] = r.why(ctx, left[0], done)
		return nil
	}
	return r.apiece(ctx, left, done)
}

// apiece is about those that could not be installed together, as apt-get has said.
// Two that need each other come only together: those that it does not name go first.
func (r *installation) apiece(ctx context.Context, left []Want, done system.Done) error {
	rest := slices.DeleteFunc(slices.Clone(left), func(w Want) bool { return blamed(w.Name, done.Out) })
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
			r.Failed[w.Name] = r.why(ctx, w, done)
		}
	}
	return nil
}

// together is one run of apt-get. Left is what is not as wanted after it.
func (r *installation) together(ctx context.Context, wanted []Want) (left []Want, done system.Done, err error) {
	err = effect.Do("packages.package.install", func() (err error) { done, err = r.run(ctx, aptGet, installing(wanted)...); return err })
	if err != nil {
		return wanted, done, err
	}
	for name, says := range conffiles(done.Out, wanted) {
		r.Says[name] = append(r.Says[name], says...)
	}
	in, err := r.Read(names(wanted))
	if err != nil {
		return wanted, done, err
	}
	left = slices.DeleteFunc(slices.Clone(wanted), func(w Want) bool { return w.isRight(in) })
	return left, done, nil
}

func names(wanted []Want) []string {
	out := make([]string, 0, len(wanted))
	for _, w := range wanted {
		out = append(out, w.Name)
	}
	return out
}

// installing is the words for apt-get. What is recommended is declared where it is wanted.
func installing(wanted []Want) []string {
	args := []string{
		"-y", "-q", "-o", "DPkg::Lock::Timeout=5", "-o", "Dpkg::Use-Pty=0", "-o", "APT::Get::List-Cleanup=0",
		"--no-remove", "--no-install-recommends", "--allow-downgrades",
	}
	forces := []string{"--force-confdef", "--force-confold"}
	if wanted[0].Replace {
		forces = []string{"--force-confnew", "--force-confmiss"}
	}
	for _, force := range forces {
		args = append(args, "-o", "Dpkg::Options::="+force)
	}
	args = append(args, "install", "--")
	for _, w := range wanted {
		if w.Version != "" {
			args = append(args, w.Name+"="+w.Version)
		} else {
			args = append(args, w.Name)
		}
	}
	return args
}

// update has apt ask its sources what they have. That some did not answer is said
// where something is missing then.
func (r *installation) update(ctx context.Context) error {
	r.updated = true
	var done system.Done
	err := effect.Do("packages.lists.update", func() (err error) {
		done, err = r.run(ctx, aptGet, "-q", "-o", "APT::Get::List-Cleanup=0", "update")
		return err
	})
	r.refused = noRoom(done)
	r.missed = strings.Join(lines(done.Out, "W: Failed to fetch ", "E: "), "; ")
	return err
}

// run runs a program that asks nothing, in bounded time. Where somebody else has the
// lock that it wants, that is an error.
func (d Debian) run(ctx context.Context, name string, args ...string) (system.Done, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done, err := d.sys.Apart(ctx, system.Command{
		Name: name, Args: args,
		Env: []string{"DEBIAN_FRONTEND=noninteractive", "DEBCONF_NONINTERACTIVE_SEEN=true", "APT_LISTCHANGES_FRONTEND=none"},
	})
	if err == nil {
		err = busy(done)
	}
	return done, err
}

// Remove removes these, and nothing else; their configuration stays. What stands
// against it is said of each that is still there.
func (d Debian) Remove(ctx context.Context, names []string) (map[string]error, error) {
	in, err := d.Read(names)
	if err != nil {
		return nil, err
	}
	args := []string{"--remove"}
	var there []string
	for _, name := range names {
		p := in.Of(name)
		if p.torn() {
			args = append(args, "--force-remove-reinstreq") // it was never whole
		}
		if p.There() {
			there = append(there, name)
		}
	}
	if len(there) == 0 {
		return nil, nil
	}
	if err := d.free(ctx); err != nil {
		return nil, err
	}
	var done system.Done
	err = effect.Do("packages.package.remove", func() (err error) { done, err = d.run(ctx, dpkg, append(args, there...)...); return err })
	if err != nil {
		return nil, err
	}
	if in, err = d.Read(names); err != nil {
		return nil, err
	}
	failed := map[string]error{}
	for _, name := range there {
		if in.Of(name).There() {
			failed[name] = whyStays(name, done)
		}
	}
	return failed, nil
}

// busy is who has the lock that a program did not get.
func busy(done system.Done) error {
	for _, line := range lines(done.Out, "E: Could not get lock ", "dpkg: error: dpkg ") {
		if strings.Contains(line, "lock") {
			return fault.New(fault.Unavailable, "%s", line).With("it is tried again when that has ended")
		}
	}
	return nil
}
