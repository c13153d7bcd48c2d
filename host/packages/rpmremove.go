package packages

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"noxmesh/host/system"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// Remove is Manager's. What somebody has changed of the configuration stays, with .rpmsave
// behind its name.
func (r RPM) Remove(ctx context.Context, names []string) (map[string]error, error) {
	in, err := r.Read(ctx, names)
	if err != nil {
		return nil, err
	}
	failed := map[string]error{}
	protected, err := r.protected()
	if err != nil {
		return nil, err
	}
	var left []string
	for _, name := range names {
		p := in.Of(name)
		if !p.There() {
			continue
		}
		if failed[name] = r.stays(ctx, p, protected[p.Name]); failed[name] == nil {
			left = append(left, name)
		}
	}
	if len(left) == 0 {
		return failed, nil
	}
	if err := free(ctx, r.locked); err != nil {
		return nil, err
	}
	return failed, r.remove(ctx, left, failed)
}

// stays is why the host does not remove a package, which may be protected by a file; rpm would.
func (r RPM) stays(ctx context.Context, p Package, protected string) error {
	if protected != "" {
		return fault.New(fault.Conflict, "it is protected by %s", protected).With("take it out there; dnf would not remove it either")
	}
	several, err := r.several(ctx, p)
	if several {
		return fault.New(fault.Conflict, "it is of those that dnf keeps at several versions side by side, as kernels").With("dnf remove %s removes it", p.Name)
	}
	return err
}

// remove removes these together, or each by itself where that fails: those first that rpm
// does not name, which may be what needs another.
func (r RPM) remove(ctx context.Context, left []string, failed map[string]error) error {
	left, done, err := r.erase(ctx, left)
	if err != nil || len(left) == 0 {
		return err
	}
	rest := slices.DeleteFunc(slices.Clone(left), func(name string) bool { return blamedByRPM(name, done.Out) })
	if len(rest) > 0 && len(rest) < len(left) {
		still, _, err := r.erase(ctx, rest)
		if err != nil {
			return err
		}
		left = slices.DeleteFunc(left, func(name string) bool { return slices.Contains(rest, name) && !slices.Contains(still, name) })
	}
	for _, name := range left {
		still, done, err := r.erase(ctx, []string{name})
		if err != nil {
			return err
		}
		if len(still) > 0 {
			failed[name] = whyStaysRPM(name, done)
		}
	}
	return nil
}

// erase is one run of rpm. Left is what is still there.
func (r RPM) erase(ctx context.Context, names []string) (left []string, done system.Done, err error) {
	in, err := r.Read(ctx, names)
	if err != nil {
		return names, done, err
	}
	args := []string{"-e", "--allmatches"}
	for _, name := range names {
		if p := in.Of(name); p.There() {
			for version := range strings.SplitSeq(p.Version, and) {
				args = append(args, nevra(p, version))
			}
		}
	}
	err = effect.Do("packages.rpm.remove", func() (err error) { done, err = r.run(ctx, rpm, args...); return err })
	if err != nil {
		return names, done, err
	}
	if in, err = r.Read(ctx, names); err != nil {
		return names, done, err
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !in.Of(name).There() }), done, nil
}

// protected is what dnf never removes, and which file says so.
func (r RPM) protected() (map[string]string, error) {
	all := map[string]string{dnf: "dnf itself", rpm: "dnf, which needs it"}
	for _, at := range []string{"/etc/dnf/protected.d", "/etc/yum/protected.d"} {
		_, files, err := r.folder(at)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if err := r.protectedBy(path.Join(at, file), all); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// protectedBy takes in what one file protects.
func (r RPM) protectedBy(file string, all map[string]string) error {
	if path.Ext(file) != ".conf" {
		return nil
	}
	text, err := r.sys.Text(file, confMost)
	if system.Absent(err) {
		return nil // it was there a moment ago
	}
	if err != nil {
		return fault.Wrap(fault.Conflict, system.Cause(err), "read %q", file)
	}
	for line := range strings.Lines(text) {
		if name := strings.TrimSpace(line); name != "" && name[0] != '#' {
			all[name] = strconv.Quote(file)
		}
	}
	return nil
}
