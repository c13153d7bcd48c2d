package packages

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	"noxmesh/host/system"
	"noxmesh/internal/fault"
)

// RPM is a machine with rpm and dnf.
type RPM struct {
	sys  *system.Root
	seen *Seen
}

// Seen is what rpm said last that it has, and what the files of its database were like
// before it was asked. The zero value is that nobody has asked.
type Seen struct {
	files string
	in    Installed
}

const (
	// installations is one package a line. Both an epoch that is 0 and one that is not there are
	// left out of a version: rpm compares them as one.
	installations = `%{NAME}\t%{EPOCHNUM}\t%{VERSION}-%{RELEASE}\t%{ARCH}\t%{DBINSTANCE}\n`

	queryTime  = time.Minute
	queryMost  = 1 << 20         // what is kept of what a program says: what is as long is not all of it
	settles    = 2 * time.Second // what was changed less long ago may be changed again and look the same
	noarch     = "noarch"
	twice      = "half-installed" // there at two versions
	and        = " and "          // between two versions of one that is there twice
	unreadable = "rpm -qa says more"
)

// Read is what rpm says that the machine has. It is asked only where the files of its
// database are not as they were.
func (r RPM) Read(ctx context.Context, _ []string) (Installed, error) {
	files, settled, err := r.files()
	if err != nil {
		return Installed{}, err
	}
	if files == "" || files != r.seen.files {
		in, err := r.ask(ctx)
		if err != nil {
			return Installed{}, err
		}
		r.seen.files, r.seen.in = "", in
		if settled {
			r.seen.files = files
		}
	}
	held, err := r.held()
	if err != nil {
		return Installed{}, err
	}
	return r.seen.in.with(held), nil
}

// files is what the files of rpm's database are like, or "" where one is being written, and
// whether a change from here on would be seen by that.
func (r RPM) files() (like string, settled bool, err error) {
	newest := time.Time{}
	for _, at := range system.RPMDatabases() {
		dir, names, err := r.folder(at)
		if err != nil {
			return "", false, err
		}
		for _, name := range names {
			// A lock says nothing, and reading writes what is shared with others who read.
			if strings.HasSuffix(name, ".lock") || strings.HasSuffix(name, "-shm") {
				continue
			}
			info, err := dir.Lstat(name)
			if err != nil {
				return "", false, nil //nolint:nilerr // it is being written: rpm is asked
			}
			like += fmt.Sprintln(path.Join(at, name), info)
			if info.Modified().After(newest) {
				newest = info.Modified()
			}
		}
	}
	return like, time.Since(newest) > settles, nil
}

// folder is a folder that need not be there, and the names in it.
func (r RPM) folder(at string) (*system.Dir, []string, error) {
	dir, err := r.sys.Dir(at)
	if system.Absent(err) {
		return nil, nil, nil
	}
	var names []string
	if err == nil {
		names, err = dir.Own()
	}
	if err != nil {
		return nil, nil, fault.Wrap(fault.Conflict, system.Cause(err), "read %q", at)
	}
	slices.Sort(names)
	return dir, names, nil
}

// ask asks rpm for all that it has.
func (r RPM) ask(ctx context.Context) (Installed, error) {
	list, err := r.query(ctx, "-qa", "--qf", installations)
	if err == nil && len(list) >= queryMost {
		err = fault.New(fault.Conflict, "rpm has more packages than this host reads").With("take what is a package out of the declaration of this machine")
	}
	if err != nil {
		return Installed{}, err
	}
	in, err := listed(list)
	in.native = native(runtime.GOARCH)
	return in, err
}

// query is what rpm answers, in bounded time, to words that change nothing.
func (r RPM) query(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	done, err := r.sys.Run(ctx, system.Command{Name: rpm, Args: args})
	if err == nil {
		err = done.Failed(rpm)
	}
	return done.Out, err
}

// native is what rpm calls an architecture of Go's.
func native(arch string) string {
	return cmp.Or(map[string]string{"amd64": "x86_64", "arm64": "aarch64", "386": "i686", "arm": "armv7hl", "loong64": "loongarch64"}[arch], arch)
}

// listed is what rpm has listed. Of a package that is there at more than one version all
// of them are the version: whoever would have made it one was ended before that.
func listed(out string) (Installed, error) {
	in := Installed{By: dnf, of: map[string][]Package{}}
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 5 || f[0] == "" || f[2] == "" {
			return Installed{}, fault.New(fault.Conflict, "rpm lists %q, which is no package", strings.TrimSpace(line)).With(unreadable)
		}
		p := Package{Name: f[0], Architecture: f[3], Version: f[2], Status: right, doubtful: true, instance: f[4]}
		if f[1] != "0" {
			p.Version = f[1] + ":" + f[2]
		}
		if p.Architecture == noarch {
			p.Architecture = anywhere
		}
		in.add(p)
	}
	return in, nil
}

// add is one more installation of a package.
func (in *Installed) add(p Package) {
	for _, old := range in.of[p.Name] {
		if old.Architecture == p.Architecture || old.Architecture == anywhere || p.Architecture == anywhere {
			if p.Architecture == anywhere {
				p.Architecture = old.Architecture
			}
			in.of[p.Name] = slices.DeleteFunc(in.of[p.Name], func(q Package) bool { return q == old })
			p.Version, p.instance, p.Status = old.Version+and+p.Version, old.instance+and+p.instance, "install ok "+twice
		}
	}
	in.of[p.Name] = append(in.of[p.Name], p)
}

// with is that with what is held.
func (in Installed) with(held []hold) Installed {
	if len(held) == 0 {
		return in
	}
	out := in
	out.of = make(map[string][]Package, len(in.of))
	for name, all := range in.of {
		all = slices.Clone(all)
		for i, p := range all {
			if j := slices.IndexFunc(held, func(h hold) bool { return h.names(p) }); j >= 0 {
				_, rest, _ := strings.Cut(p.Status, " ")
				all[i].Status, all[i].release = "hold "+rest, held[j].release
			}
		}
		out.of[name] = all
	}
	return out
}
