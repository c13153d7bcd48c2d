package version

import (
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"noxmesh/document"
	"noxmesh/internal/disk"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

const digestFile = "digest"

// Confirm makes the version that runs the one that its machine goes back to, and
// forgets the one before. Killed in the middle of it, one of the two is: it is done
// again until it has returned nil.
func (v *Versions) Confirm() error {
	if !v.IsConfirmed() || v.whole() != nil {
		if err := effect.Do("version.program.keep", v.keep); err != nil {
			return fault.Wrap(fault.Unavailable, disk.Say(err, v.dir), "keep version %q of the host to go back to", v.own)
		}
		if err := effect.Do("version.program.confirm", v.turn); err != nil {
			return fault.Wrap(fault.Unavailable, disk.Say(err, v.dir), "confirm version %q of the host", v.own)
		}
	}
	return v.Settle()
}

// Settle ends what a confirmation was killed in: what was counted of the version
// that is confirmed is forgotten, and the one before is no longer kept.
func (v *Versions) Settle() error {
	if err := v.forget(); err != nil {
		return err
	}
	return v.dropOthers()
}

// Sound makes sure that there is something to go back to: the confirmed version,
// whole. Called before another one is installed.
func (v *Versions) Sound() error {
	if !v.IsConfirmed() {
		return fault.New(fault.Unavailable, "version %q of the host is not confirmed yet", v.own)
	}
	return v.Confirm()
}

func (v *Versions) kept() string { return filepath.Join(v.dir, keptFolder, v.own) }

// whole is what is wrong with what is kept of the version that runs.
func (v *Versions) whole() error {
	said, err := os.ReadFile(filepath.Join(v.kept(), digestFile))
	if err != nil {
		return err
	}
	file, err := os.Open(filepath.Join(v.kept(), program))
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return err
	}
	if info.Mode().Perm()&0o111 == 0 || string(document.FromHash(sum.Sum(nil))) != string(said) {
		return fault.New(fault.Invalid, "what is kept of version %q is not what was kept", v.own)
	}
	return nil
}

// keep writes a copy of the program that runs, and its digest, durably.
func (v *Versions) keep() error {
	if err := os.MkdirAll(v.kept(), 0o755); err != nil {
		return err
	}
	digest, err := copyTo(filepath.Join(v.kept(), program), v.self)
	if err != nil {
		return err
	}
	if err := disk.Write(filepath.Join(v.kept(), digestFile), []byte(digest)); err != nil {
		return err
	}
	return errors.Join(disk.Place(filepath.Join(v.dir, keptFolder)).Sync(), disk.Place(v.dir).Sync())
}

// copyTo puts a copy of a program in place, whole.
func copyTo(to, from string) (digest document.Digest, err error) {
	in, err := os.Open(from)
	if err != nil {
		return "", err
	}
	defer in.Close()
	out, err := os.OpenFile(disk.Staged(to), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o755)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, sum), in)
	if err = errors.Join(err, out.Chmod(0o755), out.Sync(), out.Close()); err != nil {
		return "", errors.Join(err, os.Remove(disk.Staged(to)))
	}
	return document.FromHash(sum.Sum(nil)), os.Rename(disk.Staged(to), to)
}

// turn makes the link to the confirmed version lead to what is kept.
func (v *Versions) turn() error {
	link := filepath.Join(v.dir, confirmedLink)
	if err := os.Remove(disk.Staged(link)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Symlink(filepath.Join(keptFolder, v.own), disk.Staged(link)); err != nil {
		return err
	}
	if err := os.Rename(disk.Staged(link), link); err != nil {
		return err
	}
	return disk.Place(v.dir).Sync()
}

// dropOthers removes what is kept of other versions.
func (v *Versions) dropOthers() error {
	kept, err := os.ReadDir(filepath.Join(v.dir, keptFolder))
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "look which versions of the host are kept in %q", v.dir)
	}
	for _, other := range kept {
		if other.Name() == v.own {
			continue
		}
		err := effect.Do("version.program.drop", func() error {
			return os.RemoveAll(filepath.Join(v.dir, keptFolder, other.Name()))
		})
		if err != nil {
			return fault.Wrap(fault.Unavailable, disk.Say(err, v.dir), "remove version %q of the host, which was kept", other.Name())
		}
	}
	return nil
}
