package packages

import (
	"context"
	"slices"
	"strings"

	"noxmesh/host/system"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// Apt installs, and dpkg, which refuses to take anything else along, removes.
const (
	Apt  = "apt-get"
	dpkg = "dpkg"
)

// Debian is a machine with apt and dpkg.
type Debian struct{ sys *system.Root }

// aptRun is what apt does in one installation.
type aptRun struct {
	Debian
	missed  string // what the update could not fetch
	refused error  // by which disk the update was
}

// Install installs them together, or each by itself where that fails, so that one
// does not stand against the others. It removes nothing and asks nothing. An error
// is about all of them.
func (d Debian) Install(ctx context.Context, wanted []Want) (Outcome, error) {
	r := installationBy(&aptRun{Debian: d})
	if err := free(ctx, d.locked); err != nil {
		return r.Outcome, err
	}
	if err := d.finish(ctx, wanted, r.Says); err != nil {
		return r.Outcome, err
	}
	in, err := d.Read(ctx, names(wanted))
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
func (d Debian) finish(ctx context.Context, wanted []Want, says map[string][]string) error {
	in, err := d.Read(ctx, nil)
	if err != nil || !in.unfinished() {
		return err
	}
	if err := effect.Do("packages.dpkg.finish", func() error {
		_, err := d.run(ctx, dpkg, "--configure", "--pending", "--force-confdef", "--force-confold")
		return err
	}); err != nil {
		return err
	}
	if in.cut {
		for _, w := range wanted {
			says[w.Name] = append(says[w.Name], "dpkg had been ended in the middle of its work, and was let finish it first")
		}
	}
	return nil
}

// together is one run of apt-get, for packages with one policy about their configuration files.
func (r *aptRun) together(ctx context.Context, wanted []Want) (done system.Done, err error) {
	err = effect.Do("packages.package.install", func() (err error) { done, err = r.run(ctx, Apt, installing(wanted)...); return err })
	return done, err
}

func (*aptRun) says(out string, wanted []Want) map[string][]string { return conffiles(out, wanted) }

// halved is nothing: dpkg says itself of a package that it is not whole.
func (*aptRun) halved(Want, system.Done) error { return nil }

func (*aptRun) blames(name, out string) bool { return blamed(name, out) }

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
func (r *aptRun) update(ctx context.Context) error {
	var done system.Done
	err := effect.Do("packages.lists.update", func() (err error) {
		done, err = r.run(ctx, Apt, "-q", "-o", "APT::Get::List-Cleanup=0", "update")
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
	in, err := d.Read(ctx, names)
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
	if err := free(ctx, d.locked); err != nil {
		return nil, err
	}
	var done system.Done
	err = effect.Do("packages.package.remove", func() (err error) { done, err = d.run(ctx, dpkg, append(args, there...)...); return err })
	if err != nil {
		return nil, err
	}
	if in, err = d.Read(ctx, names); err != nil {
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
