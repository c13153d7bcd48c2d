package stage

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"noxmesh/builder/rootfs"
	"noxmesh/delivery/ignore"
	"noxmesh/document"
	"noxmesh/internal/fault"
)

// Owner is whose the files of a stage are outside of it, where that is another than
// who makes it.
type Owner struct{ UID, GID int }

// Stage is the files of one image that is made.
type Stage struct {
	Dir   string
	owner *Owner
	gives *Owner          // whose what is made now is in the image; nil: root's
	keeps bool            // what is copied stays whose it is in the image
	below map[string]seen // by path: what it stands on
}

// seen is all that counts of a file.
type seen struct {
	kind       fs.FileMode
	executable bool
	is         string // the digest of its bytes, or where a link leads
	whose      string // in the image: UID:GID; empty for root, and for whoever has what it stands on
}

// Begin makes a stage at dir of the root file system at root; with none it is empty.
func Begin(ctx context.Context, dir, root string, owner *Owner) (*Stage, error) {
	return begin(ctx, &Stage{Dir: dir, owner: owner, below: map[string]seen{}}, root)
}

func begin(ctx context.Context, s *Stage, root string) (*Stage, error) {
	dir := s.Dir
	if err := s.folder(dir); err != nil || root == "" {
		return s, err
	}
	err := s.tree(ctx, root, "/", nil, func(rel string, is seen) { s.below[rel] = is })
	return s, err
}

// On makes a stage at dir that stands on this one. What differs is told from what is
// below both.
func (s *Stage) On(ctx context.Context, dir string) (*Stage, error) {
	on, err := begin(ctx, &Stage{Dir: dir, owner: s.owner, keeps: true, below: map[string]seen{}}, s.Dir)
	on.keeps = false
	on.below = maps.Clone(s.below)
	return on, err
}

func (s *Stage) own(at string) error {
	if s.owner != nil {
		if err := os.Lchown(at, s.owner.UID, s.owner.GID); err != nil {
			return err
		}
	}
	return s.give(at)
}

func (s *Stage) folder(at string) error {
	if err := os.Mkdir(at, 0o755); err != nil {
		return err
	}
	return errors.Join(os.Chmod(at, 0o755), s.own(at))
}

// Folder makes sure of a folder, and of those above it.
func (s *Stage) Folder(name string) error {
	at, err := rootfs.Within(s.Dir, name)
	if err != nil {
		return err
	}
	return s.folders(at)
}

func (s *Stage) folders(at string) error {
	info, err := os.Lstat(at)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return fault.New(fault.Invalid, "%q is no folder", s.named(at))
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := s.folders(filepath.Dir(at)); err != nil {
		return err
	}
	return s.folder(at)
}

// Place makes sure of a folder that no image has for it, and that is no link: a
// command finds something else there.
func (s *Stage) Place(name string) error {
	at := filepath.Join(s.Dir, name)
	info, err := os.Lstat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.below[name] = seen{kind: fs.ModeDir}
		return s.folder(at)
	case err != nil:
		return err
	case !info.IsDir():
		return fault.New(fault.Invalid, "%q is no folder, and commands need one there", "/"+name)
	}
	return nil
}

func (s *Stage) named(at string) string {
	rel, err := filepath.Rel(s.Dir, at)
	if err != nil {
		rel = at
	}
	return document.Short("/" + rel)
}

// Taking is what is put into a stage, and from where.
type Taking struct {
	Root   string
	Leaves ignore.List // what of it is not seen
	Words  []string    // patterns
	To     string
	Into   bool   // to is a folder
	Unpack bool   // an archive is what is in it
	Most   int64  // bytes of what is in an archive
	Whose  *Owner // in the image; nil: root's
}

// Copy copies what the patterns name below a root into the stage: a file to a path, or
// into a folder, and of a folder what is in it.
func (s *Stage) Copy(ctx context.Context, t Taking) error {
	s.gives = t.Whose
	defer func() { s.gives = nil }()
	for _, pattern := range t.Words {
		all, err := t.matching(pattern)
		if err != nil {
			return err
		}
		for _, name := range all {
			one := t
			one.Into = t.Into || len(all) > 1
			if err := s.copyOne(ctx, one, name); err != nil {
				return fault.Add(err, "copy %q", document.Short(name))
			}
		}
	}
	return nil
}

// sees reports whether something is there for who takes: it is not left out, or it is
// a folder with something in it that is not.
func (t Taking) sees(name string) bool {
	if name == "." || !t.Leaves.Leaves(name) {
		return true
	}
	at := filepath.Join(t.Root, filepath.FromSlash(name))
	if info, err := os.Lstat(at); err != nil || !info.IsDir() || !t.Leaves.Back() {
		return false
	}
	found := errors.New("found")
	return errors.Is(filepath.WalkDir(at, func(file string, d fs.DirEntry, err error) error {
		rel, wrong := filepath.Rel(t.Root, file)
		if err != nil || wrong != nil || t.Leaves.Leaves(filepath.ToSlash(rel)) {
			return nil //nolint:nilerr // what cannot be read is not seen
		}
		return found
	}), found)
}

// matching is what a pattern names, in one order.
func (t Taking) matching(pattern string) ([]string, error) {
	name := path.Clean("/" + pattern)[1:]
	if name == "" {
		return []string{"."}, nil
	}
	all := []string{name}
	at, err := rootfs.Within(t.Root, name)
	if err == nil {
		_, err = os.Lstat(at)
	}
	if err != nil {
		dir, wrong := os.OpenRoot(t.Root)
		if wrong != nil {
			return nil, wrong
		}
		defer dir.Close()
		if all, err = fs.Glob(dir.FS(), name); err == nil && len(all) == 0 {
			err = fs.ErrNotExist
		}
	}
	if err != nil {
		return nil, fault.Wrap(fault.NotFound, err, "find %q", document.Short(pattern))
	}
	seen := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !t.sees(name) })
	if len(seen) == 0 {
		return nil, fault.New(fault.NotFound, "find %q: it is left out by what the folder does not show (.dockerignore)", document.Short(pattern))
	}
	slices.Sort(seen)
	return seen, nil
}

func (s *Stage) copyOne(ctx context.Context, t Taking, name string) error {
	from, err := rootfs.Within(t.Root, name)
	if err != nil {
		return err
	}
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		if err := s.Folder(t.To); err != nil {
			return err
		}
		return s.tree(ctx, from, t.To, func(rel string) bool { return t.Leaves.Leaves(path.Join(name, rel)) }, nil)
	}
	if t.Unpack && info.Mode().IsRegular() {
		if is, err := s.unpackFile(ctx, t, from); is || err != nil {
			return err
		}
	}
	to := t.To
	at, err := rootfs.Within(s.Dir, to)
	if err != nil {
		return err
	}
	if is, err := os.Lstat(at); t.Into || err == nil && is.IsDir() {
		to = path.Join(to, path.Base(name))
	}
	_, err = s.file(from, info, to)
	return err
}

// tree copies what is in a folder below a path of the stage, but for what is left out.
func (s *Stage) tree(ctx context.Context, from, to string, leaves func(rel string) bool, tell func(rel string, is seen)) error {
	return filepath.WalkDir(from, func(at string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || at == from {
			return err
		}
		rel, err := filepath.Rel(from, at)
		if err != nil {
			return err
		}
		if leaves != nil && leaves(filepath.ToSlash(rel)) {
			return nil // what is below it may not be
		}
		is, err := s.one(at, d, path.Join(to, rel))
		if err == nil && tell != nil {
			tell(rel, is)
		}
		return err
	})
}

// one copies one thing of a folder to a path of the stage.
func (s *Stage) one(at string, d fs.DirEntry, to string) (seen, error) {
	if d.IsDir() {
		err := s.Folder(to)
		if err == nil && s.keeps {
			err = s.keep(at, to)
		}
		return seen{kind: fs.ModeDir}, err
	}
	info, err := d.Info()
	if err != nil {
		return seen{}, err
	}
	return s.file(at, info, to)
}

// keep lets a copy be whose its original is in the image.
func (s *Stage) keep(from, to string) error {
	owner, err := whose(from, to)
	if err != nil || owner == "" {
		return err
	}
	at, err := rootfs.Within(s.Dir, to)
	if err != nil {
		return err
	}
	return mark(at, owner)
}

// clear is where a path of the stage is, with the folders above it and nothing there.
func (s *Stage) clear(to string) (at string, err error) {
	dir, err := rootfs.Within(s.Dir, path.Dir(to))
	if err == nil {
		err = s.folders(dir)
	}
	if err != nil {
		return "", err
	}
	at = filepath.Join(dir, path.Base(to))
	switch was, err := os.Lstat(at); {
	case err == nil && was.IsDir():
		return "", fault.New(fault.Invalid, "%q is a folder", document.Short(to))
	case err == nil:
		return at, os.Remove(at)
	}
	return at, nil
}

// file copies one file or link to a path of the stage, in place of what is there.
func (s *Stage) file(from string, info fs.FileInfo, to string) (seen, error) {
	at, err := s.clear(to)
	if err != nil {
		return seen{}, err
	}
	is := seen{kind: info.Mode().Type(), executable: info.Mode()&0o111 != 0}
	switch is.kind {
	case fs.ModeSymlink:
		is.executable = false
		if is.is, err = os.Readlink(from); err == nil {
			err = os.Symlink(is.is, at)
		}
	case 0:
		if is.is, err = copyFile(from, at, is.executable); err == nil && s.keeps {
			err = s.keep(from, to)
		}
	default:
		err = fault.New(fault.Invalid, "%q is neither a file nor a folder nor a link", document.Short(to))
	}
	if err == nil {
		err = s.own(at)
	}
	return is, err
}

func copyFile(from, to string, executable bool) (sum string, err error) {
	in, err := os.Open(from)
	if err != nil {
		return "", err
	}
	defer in.Close()
	return written(in, to, executable)
}

// written is the digest of what comes, in a new file.
func written(in io.Reader, to string, executable bool) (sum string, err error) {
	mode := fs.FileMode(0o644)
	if executable {
		mode = 0o755
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, h), in)
	return string(document.FromHash(h.Sum(nil))), errors.Join(err, out.Chmod(mode), out.Close())
}
