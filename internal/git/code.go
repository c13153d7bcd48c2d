package git

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"noxmesh/internal/fault"
	"noxmesh/manifest"
)

// File is a file of a commit that somebody wants to read.
type File struct {
	Path string // from the root of the repository
	Text []byte // of a file that is larger than Known.FileLimit, a byte more than that
	Link string // where a link leads, instead of the text
}

// codeLimit is how much of one folder's code is read: sources that people write
// are far smaller.
const codeLimit = 256 << 20

// Wants chooses files by their path in the module's folder; of those that stand
// directly in a folder that encloses it, with above.
type Wants func(path string, above bool) bool

// standing is what stands in a commit of what may be read, by its trees alone.
type standing struct {
	tree     string  // the folder's; empty where there is no such folder
	manifest entry   // the folder's module.json, of whatever kind; zero where there is none
	below    []entry // what is wanted in the folder
	above    []entry // and in those that enclose it, the outermost first
	modules  []entry // what git might take for a .gitmodules in any of these folders
}

// route is the way to a folder, and what is wanted on it.
type route struct {
	folder string
	wants  Wants
}

// stand reads the trees of a commit that dir holds: those of the folder, and of
// those that enclose it.
func (g *Git) stand(ctx context.Context, dir, commit, folder string, wants Wants) (s standing, err error) {
	if wants == nil {
		wants = func(string, bool) bool { return false }
	}
	tree, err := g.Tree(ctx, dir, commit, "")
	if err == nil && folder != "" {
		tree, err = g.down(ctx, dir, tree, &s, route{folder, wants})
	}
	if err != nil || tree == "" {
		return s, err
	}
	s.tree = tree
	return s, g.entries(ctx, dir, tree, true, func(e entry) {
		at := e
		at.path = path.Join(folder, e.path)
		s.maybeModules(e)
		if e.path == manifest.Name || strings.HasPrefix(e.path, manifest.Name+"/") && s.manifest.path == "" {
			s.manifest = at
		}
		if wants(e.path, false) {
			s.below = append(s.below, at)
		}
	})
}

// down goes from the root's tree down to the folder's, and is that; what is wanted
// on the way it puts into s. It is empty where there is no such folder.
func (g *Git) down(ctx context.Context, dir, tree string, s *standing, to route) (string, error) {
	inside := ""
	for name := range strings.SplitSeq(to.folder, "/") {
		next := ""
		err := g.entries(ctx, dir, tree, false, func(e entry) {
			if e.kind == "tree" && e.path == name {
				next = e.id
			}
			s.maybeModules(e)
			if e.kind == "blob" && to.wants(e.path, true) {
				e.path = path.Join(inside, e.path)
				s.above = append(s.above, e)
			}
		})
		if err != nil || next == "" {
			return "", err
		}
		tree, inside = next, path.Join(inside, name)
	}
	return tree, nil
}

// entries gives each entry of a tree, with all that is below it where deep.
func (g *Git) entries(ctx context.Context, dir, tree string, deep bool, each func(entry)) error {
	args := []string{"ls-tree", "-z", "--full-tree"}
	if deep {
		args = append(args, "-r")
	}
	many := 0
	_, err := g.run(ctx, call{
		protocol: local, gitDir: dir, args: append(args, "--end-of-options", tree),
		out: func(r io.Reader) error {
			return eachEntry(r, func(e entry) error {
				if many++; many > maxEntries { // a few small trees can stand for billions of files
					return fault.Wrap(fault.Invalid, tooMuch{TooBig}, "more than %d files", maxEntries)
				}
				each(e)
				return nil
			})
		},
	})
	return err
}

// maybeModules keeps what a git might take for a .gitmodules: on some file
// systems more names than that one are.
func (s *standing) maybeModules(e entry) {
	name := strings.Map(func(r rune) rune {
		if r >= 0x80 {
			return -1
		}
		return r
	}, strings.ToLower(path.Base(e.path)))
	if e.kind == "blob" && (strings.Contains(name, "gitmod") || strings.HasPrefix(name, "gi") && strings.Contains(name, "~")) {
		s.modules = append(s.modules, e)
	}
}

// key is one for all commits in which the same stands: the folder's tree, and
// what is wanted above it.
func (s standing) key() string {
	if len(s.above) == 0 {
		return s.tree
	}
	sum := sha256.New()
	for _, e := range s.above {
		sum.Write([]byte(e.id + " " + e.path + "\x00")) // a hash never fails
	}
	return s.tree + "-" + hex.EncodeToString(sum.Sum(nil)[:20])
}

// readable says why there is no module.json to read; its errors have the causes
// NoFolder, NoFile and NotFile.
func (s standing) readable(commit, folder string) error {
	file := path.Join(folder, manifest.Name)
	switch m := s.manifest; {
	case s.tree == "":
		return fault.Wrap(fault.NotFound, NoFolder, "folder %q at commit %s", folder, commit)
	case m.path == "":
		return fault.Wrap(fault.NotFound, NoFile, "file %q at commit %s", file, commit)
	case m.path != file:
		return fault.Wrap(fault.Invalid, NotFile, "%q at commit %s is a folder", file, commit).With("commit it as a regular file")
	case m.mode != "100644" && m.mode != "100755":
		return fault.Wrap(fault.Invalid, NotFile, "%q at commit %s is %s", file, commit, kindOf(m.mode)).With("commit it as a regular file")
	}
	return nil
}

// contents is what a reading gives.
type contents struct {
	manifest []byte // module.json
	tooBig   error  // why it is not there, with the cause TooBig; then nothing else is
	files    []File // what else is wanted, by path
}

// read is what is wanted of a commit that dir holds, of each file up to a byte
// more than most. Submodules are not read. That there is too much of it has the
// cause TooBig; that an object is not there is withheld.
func (g *Git) read(ctx context.Context, dir string, s standing, most int64) (c contents, err error) {
	wanted := slices.DeleteFunc(slices.Concat(s.below, s.above), func(e entry) bool { return e.kind != "blob" })
	var ask strings.Builder
	for _, e := range append([]entry{s.manifest}, wanted...) {
		ask.WriteString(e.id + "\n")
	}
	_, err = g.run(ctx, call{
		protocol: local, gitDir: dir, args: []string{"cat-file", "--batch", "--buffer"}, in: strings.NewReader(ask.String()),
		out: func(r io.Reader) error { return c.from(bufio.NewReaderSize(r, 256<<10), s.manifest, wanted, most) },
	})
	if c.tooBig != nil {
		return contents{tooBig: c.tooBig}, nil //nolint:nilerr // it is the reason of what git said
	}
	slices.SortFunc(c.files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return c, err
}

// from reads what cat-file --batch says of module.json and of the files.
func (c *contents) from(r *bufio.Reader, m entry, wanted []entry, most int64) error {
	limit := int64(manifest.Limits.Bytes)
	text, size, err := batched(r, m, limit)
	if err != nil {
		return err
	}
	if size > limit {
		c.tooBig = fault.Wrap(fault.Invalid, tooMuch{TooBig}, "file %q has %d bytes, at most %d are read", m.path, size, limit)
		return c.tooBig
	}
	c.manifest = text
	if len(wanted) > 0 {
		c.files = make([]File, 0, len(wanted))
	}
	total := int64(0)
	for _, e := range wanted {
		text, size, err := batched(r, e, most)
		if err != nil {
			return err
		}
		if total += size; total > codeLimit {
			return fault.Wrap(fault.Invalid, tooMuch{TooBig}, "its code has more than the %d bytes that are read", codeLimit)
		}
		f := File{Path: e.path, Text: text}
		if e.mode == "120000" {
			f.Link, f.Text = string(text), nil
		}
		c.files = append(c.files, f)
	}
	return nil
}

// withheld is an object of a commit that did not come with it.
type withheld struct{}

// Error says so.
func (withheld) Error() string { return "the forge has not given it" }

// Is lets it be an errRead too.
func (withheld) Is(target error) bool { return target == errRead }

// batched reads what is said of one object, "ID KIND SIZE\n", the bytes, and a
// line's end; of more bytes than most, a byte more than those is kept.
func batched(r *bufio.Reader, e entry, most int64) (text []byte, size int64, err error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return nil, 0, err
	}
	f := strings.Fields(line)
	if len(f) == 2 && f[0] == e.id && f[1] == "missing" {
		return nil, 0, fault.Wrap(fault.Unavailable, withheld{}, "object %s of %q", e.id, e.path)
	}
	if len(f) != 3 || f[0] != e.id || f[1] != "blob" {
		return nil, 0, fault.Wrap(fault.Invalid, errRead, "object %s of %q: git says %q", e.id, e.path, strings.TrimSpace(line))
	}
	if size, err = strconv.ParseInt(f[2], 10, 64); err != nil {
		return nil, 0, err
	}
	text = make([]byte, min(size, most+1))
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, 0, err
	}
	_, err = io.CopyN(io.Discard, r, size-int64(len(text))+1)
	return text, size, err
}
