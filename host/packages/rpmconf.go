package packages

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strconv"
	"strings"

	"noxmesh/host/system"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

const (
	// belongings is one file of a package a line.
	belongings = `[%{FILEFLAGS}\t%{FILEDIGESTS}\t%{FILENAMES}\n]`

	isConfig = 1 // of the flags of a file
	besides  = ".rpmnew"
	saved    = ".rpmsave"

	fileMost = 16 << 20 // bytes of a configuration file
)

// replace puts the package's configuration files in the place of those that somebody has
// changed: rpm keeps these, and has the package's beside them.
func (r RPM) replace(ctx context.Context, w Want, says map[string][]string) error {
	p, err := r.one(ctx, w.Name)
	if err != nil {
		return err
	}
	list, err := r.query(ctx, "-q", "--qf", belongings, nevra(p, p.Version))
	if err != nil {
		return err
	}
	r.sys.Forget() // what dnf has put there was not there before
	for file, digest := range configuration(list) {
		replaced, err := r.replaceOne(file, digest)
		if err != nil {
			return err
		}
		if replaced {
			says[w.Name] = slices.DeleteFunc(says[w.Name], func(text string) bool { return text == kept(file) })
			says[w.Name] = append(says[w.Name], exchanged(file, file+saved))
		}
	}
	return nil
}

func (r RPM) one(ctx context.Context, name string) (Package, error) {
	in, err := r.Read(ctx, []string{name})
	return in.Of(name), err
}

// configuration is the configuration files in a list of rpm's, and the digests that they
// have in the package.
func configuration(list string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(list) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		if len(f) != 3 || len(f[1]) != hex.EncodedLen(sha256.Size) || !path.IsAbs(f[2]) || path.Clean(f[2]) != f[2] {
			continue
		}
		if flags, err := strconv.Atoi(f[0]); err == nil && flags&isConfig != 0 {
			all[f[2]] = f[1]
		}
	}
	return all
}

// replaceOne puts the file that lies beside a configuration file in its place, where it is
// the package's, and leaves the old one beside it. What is the package's already has no
// other beside it: there a host was killed that had done this.
func (r RPM) replaceOne(file, digest string) (replaced bool, err error) {
	beside, err := r.digest(file + besides)
	if err != nil || beside != digest {
		return false, err
	}
	is, err := r.digest(file)
	if err != nil {
		return false, err
	}
	dir, err := r.sys.Dir(path.Dir(file))
	if err != nil {
		return false, fault.Wrap(fault.Conflict, system.Cause(err), "replace %q", file)
	}
	name := path.Base(file)
	err = effect.Do("packages.conffile.replace", func() error {
		if is == digest {
			return dir.Remove(name + besides)
		}
		if err := dir.Exchange(name, name+besides); err != nil {
			return err
		}
		if err := dir.Rename(name+besides, name+saved); err != nil {
			return err
		}
		return dir.Sync()
	})
	if err != nil {
		return false, fault.Wrap(fault.Conflict, r.sys.Say(system.Cause(err), file), "replace %q", file)
	}
	return is != digest, nil
}

// digest is that of what is in a file; "" where there is none.
func (r RPM) digest(file string) (string, error) {
	b, err := r.sys.Bytes(file, fileMost)
	if system.Absent(err) {
		return "", nil
	}
	if err != nil {
		return "", fault.Wrap(fault.Conflict, system.Cause(err), "read %q", file)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

// kept and exchanged are what is said of a file that somebody had changed.
func kept(file string) string {
	return file + " was changed on the machine and is kept; that of the package is " + file + besides
}

func exchanged(file, old string) string {
	return file + " was changed on the machine and is replaced; it is " + old + " now"
}
