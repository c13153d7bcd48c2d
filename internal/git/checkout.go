package git

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"noxmesh/internal/disk"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// Order is what to check out.
type Order struct {
	URL    string
	Commit string
	Ref    string // to find the commit through where the forge gives none by its id; may be empty
	Folder string // empty for the root
}

// Checked is what a checkout wrote.
type Checked struct {
	Tree       string   // of the folder
	Submodules []string // paths of submodules: they are left as empty folders
}

const maxEntries = 500_000

// Checkout writes the folder as it is at exactly this commit into dir, which is
// empty or not there. Only the folder is written, without a .git beside it, so
// that what is made of it depends on nothing but its tree. Links are written as
// they are, wherever they point; nothing of the repository is run.
func (g *Git) Checkout(ctx context.Context, o Order, dir string) (Checked, error) {
	if err := CheckFolder(o.Folder); err != nil {
		return Checked{}, err
	}
	dir, err := emptyDir(dir)
	if err != nil {
		return Checked{}, err
	}
	gitDir, err := os.MkdirTemp(g.tmp, "checkout-")
	if err != nil {
		return Checked{}, fault.Wrap(fault.Unavailable, disk.Say(err, ""), "making a folder to fetch into in %q", g.tmp)
	}
	defer os.RemoveAll(gitDir) //nolint:errcheck // what is left behind is removed at the next start
	if err := g.Fetch(ctx, o.URL, o.Commit, o.Ref, gitDir); err != nil {
		return Checked{}, err
	}
	tree, err := g.Tree(ctx, gitDir, o.Commit, o.Folder)
	if err != nil {
		return Checked{}, err
	}
	subs, err := g.measure(ctx, gitDir, tree)
	if err != nil {
		return Checked{}, fault.Add(err, "commit %s of %q", o.Commit, redact(o.URL))
	}
	err = effect.Do("git.tree.write", func() error { return g.write(ctx, gitDir, tree, dir) })
	if err != nil {
		return Checked{}, fault.Add(err, "writing commit %s of %q", o.Commit, redact(o.URL))
	}
	return Checked{Tree: tree, Submodules: subs}, nil
}

func emptyDir(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fault.Wrap(fault.Invalid, err, "folder %q", dir)
	}
	if err := os.MkdirAll(abs, 0o755); err != nil {
		return "", fault.Wrap(fault.Unavailable, disk.Say(err, ""), "making %q", abs)
	}
	inside, err := os.ReadDir(abs)
	if err != nil {
		return "", fault.Wrap(fault.Unknown, err, "reading %q", abs)
	}
	if len(inside) > 0 {
		return "", fault.New(fault.Conflict, "folder %q is not empty", abs)
	}
	return abs, nil
}

// plain outweighs every attribute in the tree: what is written is what was
// committed, byte for byte.
const plain = "* -text !eol !crlf !ident !filter !working-tree-encoding\n"

// write makes the work tree. The repository it comes from is elsewhere, so a
// file of the tree that is called like one of git's own is only a file.
func (g *Git) write(ctx context.Context, gitDir, tree, dir string) error {
	attributes := filepath.Join(gitDir, "info", "attributes")
	err := os.MkdirAll(filepath.Dir(attributes), 0o700)
	if err == nil {
		err = os.WriteFile(attributes, []byte(plain), 0o600)
	}
	if err != nil {
		return fault.Wrap(fault.Unavailable, disk.Say(err, ""), "writing %q", attributes)
	}
	for _, args := range [][]string{
		{"read-tree", "--no-recurse-submodules", "--reset", tree},
		{"checkout-index", "--quiet", "--all"},
	} {
		if _, err := g.run(ctx, call{protocol: local, gitDir: gitDir, workTree: dir, args: args}); err != nil {
			// Nothing was asked of a remote: what git cannot write, the tree made impossible or this machine did.
			if fault.KindOf(err) == fault.Unavailable && !isMachines(err) {
				return fault.Wrap(fault.Invalid, err, "")
			}
			return err
		}
	}
	return nil
}

// measure refuses a tree that would become too many files or bytes (a few small
// objects can stand for billions of files), and names its submodules.
func (g *Git) measure(ctx context.Context, gitDir, tree string) ([]string, error) {
	var subs []string
	var files, bytes int64
	_, err := g.run(ctx, call{
		protocol: local, gitDir: gitDir, args: []string{"ls-tree", "-r", "-l", "-z", "--full-tree", "--end-of-options", tree},
		out: func(r io.Reader) error {
			return eachEntry(r, func(e entry) error {
				files, bytes = files+1, bytes+e.size
				if e.mode == "160000" {
					subs = append(subs, e.path)
				}
				if files > maxEntries || bytes > g.cfg.MaxSize {
					return fault.Wrap(fault.Invalid, tooMuch{TooBig}, "more than %d files or %d bytes", maxEntries, g.cfg.MaxSize)
				}
				return nil
			})
		},
	})
	return subs, err
}

func eachEntry(r io.Reader, f func(entry) error) error {
	b := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := b.ReadString(0)
		if err == io.EOF && line == "" {
			return nil
		}
		if err != nil {
			return err
		}
		if e, ok := parseEntry(strings.TrimSuffix(line, "\x00")); ok {
			if err := f(e); err != nil {
				return err
			}
		}
	}
}
