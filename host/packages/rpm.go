package packages

import (
	"cmp"
	"context"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"noxmesh/host/system"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// Installed by dnf, and removed by rpm, which refuses to take anything else along.
const (
	dnf = "dnf"
	rpm = "rpm"
)

const (
	wordMost = 120 << 10 // bytes of one word that a program can be given, with some to spare

	dnfLocked = 200 // the code with which dnf ends where another has its lock
)

// dnfRun is what dnf does in one installation.
type dnfRun struct {
	RPM
}

// Install is Manager's. Rpm says of a package that it has it before its scripts have run,
// keeps the old one beside the new one until the new one is whole, and does not say who was
// ended in the middle of that. What is there twice is installed once more, by which rpm
// takes away all but that; and so is what nobody has seen come to its end.
func (r RPM) Install(ctx context.Context, wanted []Want) (Outcome, error) {
	i := installationBy(&dnfRun{r})
	if err := free(ctx, r.locked); err != nil {
		return i.Outcome, err
	}
	in, err := r.Read(ctx, names(wanted))
	if err != nil {
		return i.Outcome, err
	}
	var repeated, others []Want
	for _, w := range wanted {
		err := r.prepare(ctx, &w, in, i.Says)
		switch {
		case err != nil:
			i.Failed[w.Name] = err
		case w.repeat != "":
			repeated = append(repeated, w)
		case !w.isRight(in):
			others = append(others, w)
		}
	}
	for _, some := range [][]Want{repeated, others} {
		if err := r.installSome(ctx, i, some); err != nil {
			return i.Outcome, err
		}
	}
	return i.Outcome, nil
}

// installSome is those that are all installed once more, or all not.
func (r RPM) installSome(ctx context.Context, i *installation, some []Want) error {
	if len(some) == 0 {
		return nil
	}
	if err := i.install(ctx, some); err != nil {
		return err
	}
	for _, w := range some {
		if !w.Replace || i.Failed[w.Name] != nil {
			continue
		}
		if err := r.replace(ctx, w, i.Says); err != nil {
			i.Failed[w.Name] = err
		}
	}
	return nil
}

// prepare finds out whether a package is to be installed once more, and at which version: the
// one that is wanted, or else the one that came last.
func (r RPM) prepare(ctx context.Context, w *Want, in Installed, says map[string][]string) error {
	p := in.Of(w.Name)
	if w.Version != "" && !strings.Contains(w.Version, "-") {
		return fault.New(fault.Conflict, "version %s has no release", w.Version).With("declare it with its release, as rpm has it: %s-1 for one", w.Version)
	}
	versions, instances := strings.Split(p.Version, and), strings.Split(p.instance, and)
	switch {
	case p.State() == twice:
		if several, err := r.several(ctx, p); several || err != nil {
			return cmp.Or(err, sideBySide(p))
		}
		says[w.Name] = append(says[w.Name], "it was there as "+p.Version+": dnf had been ended in the middle of its work")
	case !w.Again || !p.Right():
		return nil
	}
	w.not = p.instance
	if w.Version == "" {
		w.repeat = versions[latest(instances)]
	} else if slices.Contains(versions, w.Version) {
		w.repeat = w.Version
	}
	return nil
}

// latest is which installation came last.
func latest(instances []string) int {
	most, at := -1, 0
	for n, text := range instances {
		if i, err := strconv.Atoi(text); err == nil && i > most {
			most, at = i, n
		}
	}
	return at
}

// several reports whether the package is of those that dnf keeps at many versions on purpose, as kernels.
func (r RPM) several(ctx context.Context, p Package) (bool, error) {
	out, err := r.query(ctx, "-q", "--provides", p.Name)
	return err == nil && isSeveral(out), err
}

// isSeveral reports whether something that a package provides says that many versions of
// it are kept: what dnf's installonlypkgs has where nobody has set it.
func isSeveral(provides string) bool {
	for line := range strings.Lines(provides) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "kernel" || strings.HasPrefix(name, "kernel-PAE") || strings.HasPrefix(name, "installonlypkg(") || strings.HasPrefix(name, "multiversion(") {
			return true
		}
	}
	return false
}

func sideBySide(p Package) error {
	return fault.New(fault.Conflict, "it is there as %s: dnf keeps several versions of it side by side, and this host keeps one of a package", p.Version).
		With("take it out of the declaration")
}

// together is one run of dnf, for packages that are all installed once more, or all not.
// What is there at a later version as well rpm does not install once more before that is gone.
func (r *dnfRun) together(ctx context.Context, wanted []Want) (done system.Done, err error) {
	in, err := r.Read(ctx, names(wanted))
	if err != nil {
		return done, err
	}
	args, err := dnfWords(wanted, in)
	if err != nil {
		return done, err
	}
	if wanted[0].repeat == "" {
		err = effect.Do("packages.rpm.install", func() (err error) { done, err = r.run(ctx, dnf, args...); return err })
		return done, err
	}
	for range 2 {
		err = effect.Do("packages.rpm.repeat", func() (err error) { done, err = r.run(ctx, dnf, args...); return err })
		others := superseded(wanted, in)
		if err != nil || len(others) == 0 || !strings.Contains(complaint(done.Out), " is already installed") {
			break
		}
		in = Installed{}
		if err = effect.Do("packages.rpm.drop", func() error { _, err := r.run(ctx, rpm, append([]string{"-e"}, others...)...); return err }); err != nil {
			break
		}
	}
	return done, err
}

// superseded is what is there of these at another version than the one that is installed once more.
func superseded(wanted []Want, in Installed) []string {
	var all []string
	for _, w := range wanted {
		p := in.Of(w.Name)
		for version := range strings.SplitSeq(p.Version, and) {
			if p.State() == twice && version != w.repeat {
				all = append(all, nevra(p, version))
			}
		}
	}
	return all
}

// dnfWords is the words for dnf. What is recommended is declared where it is wanted, and so
// is what obsoletes another: dnf would install that in its place. It knows no way to say that nothing is removed but to protect each package that is there.
func dnfWords(wanted []Want, in Installed) ([]string, error) {
	all := make([]string, 0, len(in.of))
	for name := range in.of {
		all = append(all, name)
	}
	slices.Sort(all)
	protected := "protected_packages=" + strings.Join(all, ",")
	if len(protected) > wordMost {
		return nil, fault.New(fault.Conflict, "this machine has %d packages, which are more than dnf can be told to keep while it installs", len(all)).
			With("dnf install %s installs it", dnfName(wanted[0].Name, in))
	}
	args := []string{"-y", "--setopt=color=never", "--setopt=install_weak_deps=0", "--setopt=obsoletes=0", "--setopt=exit_on_lock=1", "--setopt=" + protected}
	if wanted[0].repeat != "" {
		args = append(args, "reinstall")
	} else {
		args = append(args, "install")
	}
	for _, w := range wanted {
		name := bare(w.Name)
		if version := cmp.Or(w.repeat, w.Version); version != "" {
			name += "-" + version
		}
		args = append(args, name+foreign(w.Name, in))
	}
	return args, nil
}

// dnfName is how dnf calls a package.
func dnfName(name string, in Installed) string { return bare(name) + foreign(name, in) }

// foreign is the architecture behind a name where that is not the machine's, as dnf wants it.
func foreign(name string, in Installed) string {
	_, arch, said := strings.Cut(name, ":")
	switch {
	case !said || arch == in.native:
		return ""
	case arch == anywhere:
		return "." + noarch
	}
	return "." + arch
}

func rpmArch(p Package) string {
	if p.Architecture == anywhere {
		return noarch
	}
	return p.Architecture
}

// nevra is one version of a package in rpm's words.
func nevra(p Package, version string) string { return p.Name + "-" + version + "." + rpmArch(p) }

// update has dnf ask the repositories what they have. What did not answer is said where
// something is missing then.
func (r *dnfRun) update(ctx context.Context) error {
	return effect.Do("packages.repositories.update", func() error {
		_, err := r.run(ctx, dnf, "--setopt=color=never", "--setopt=exit_on_lock=1", "--refresh", "makecache")
		return err
	})
}

// run runs a program that asks nothing, in bounded time. Where somebody else has the
// lock that it wants, that is an error.
func (r RPM) run(ctx context.Context, name string, args ...string) (system.Done, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done, err := r.sys.Apart(ctx, system.Command{Name: name, Args: args})
	if err == nil && name == dnf && done.Code == dnfLocked {
		err = fault.New(fault.Unavailable, "dnf says: %s", strings.Join(lockedLines(done.Out), ": ")).With("it is tried again when that has ended")
	}
	return done, err
}

// locked is which lock somebody has, and who: rpm locks a file, and dnf writes down who it
// is, which says nothing of one that has ended.
func (r RPM) locked() (file, by string, err error) {
	var locks []string
	for _, at := range system.RPMDatabases() {
		locks = append(locks, path.Join(at, ".rpm.lock"))
	}
	if file, by, err = lockedOf(r.sys, locks); err != nil || file != "" {
		return file, by, err
	}
	for _, file := range []string{"/var/lib/dnf/rpmdb_lock.pid", "/var/cache/dnf/metadata_lock.pid", "/var/cache/dnf/download_lock.pid"} {
		text, err := r.sys.Text(file, 1<<10)
		if err != nil {
			continue // there is none, or it is gone again
		}
		pid, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || pid <= 0 {
			continue
		}
		if name, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm"); err == nil {
			return file, strings.TrimSpace(string(name)) + " (pid " + strconv.Itoa(pid) + ")", nil
		}
	}
	return "", "", nil
}
