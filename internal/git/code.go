package git

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"noxmesh/internal/fault"
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

// code is what stands in the commit of what is wanted, and a key: two commits
// with one key hold the same.
func (g *Git) code(ctx context.Context, dir, commit, folder string, wants Wants) (key string, found []entry, err error) {
	tree, err := g.Tree(ctx, dir, commit, folder)
	if err != nil {
		return "", nil, err
	}
	_, err = g.run(ctx, call{
		protocol: local, gitDir: dir, args: []string{"ls-tree", "-r", "-l", "-z", "--full-tree", "--end-of-options", tree},
		out: func(r io.Reader) error {
			return eachEntry(r, func(e entry) error {
				if wants(e.path, false) {
					e.path = path.Join(folder, e.path)
					found = append(found, e)
				}
				return nil
			})
		},
	})
	if err != nil {
		return "", nil, err
	}
	above, err := g.above(ctx, dir, commit, folder, wants)
	if err != nil {
		return "", nil, err
	}
	key = tree
	if len(above) > 0 {
		sum := sha256.New()
		for _, e := range above {
			sum.Write([]byte(e.id + " " + e.path + "\x00")) // a hash never fails
		}
		key += "-" + hex.EncodeToString(sum.Sum(nil)[:20])
	}
	return key, append(found, above...), nil
}

// above is what is wanted of the folders that enclose this one, the outermost first.
func (g *Git) above(ctx context.Context, dir, commit, folder string, wants Wants) (found []entry, err error) {
	if folder == "" {
		return nil, nil
	}
	for i, c := range "/" + folder {
		if c != '/' {
			continue
		}
		tree := commit + ":" + ("/" + folder)[:i]
		tree = strings.Replace(tree, ":/", ":", 1)
		_, err = g.run(ctx, call{
			protocol: local, gitDir: dir, args: []string{"ls-tree", "-l", "-z", "--full-tree", "--end-of-options", tree},
			out: func(r io.Reader) error {
				return eachEntry(r, func(e entry) error {
					if e.kind == "blob" && wants(e.path, true) {
						e.path = path.Join(folder[:max(0, i-1)], e.path)
						found = append(found, e)
					}
					return nil
				})
			},
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// read is the files of these entries, in their order, each up to a byte more than
// most. Submodules are not read.
func (g *Git) read(ctx context.Context, dir string, entries []entry, most int64) ([]File, error) {
	entries = slices.DeleteFunc(slices.Clone(entries), func(e entry) bool { return e.kind != "blob" })
	if len(entries) == 0 {
		return nil, nil
	}
	var ask strings.Builder
	total := int64(0)
	for _, e := range entries {
		total += e.size
		ask.WriteString(e.id + "\n")
	}
	if total > codeLimit {
		return nil, fault.Wrap(fault.Invalid, errors.Join(TooBig, errRead), "its code has %d bytes, at most %d are read", total, codeLimit)
	}
	files := make([]File, 0, len(entries))
	_, err := g.run(ctx, call{
		protocol: local, gitDir: dir, args: []string{"cat-file", "--batch", "--buffer"}, in: strings.NewReader(ask.String()),
		out: func(r io.Reader) error {
			b := bufio.NewReaderSize(r, 256<<10)
			for _, e := range entries {
				f, err := batched(b, e, most)
				if err != nil {
					return err
				}
				files = append(files, f)
			}
			return nil
		},
	})
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return files, err
}

// batched reads what cat-file --batch says of one object: "ID KIND SIZE\n", the
// bytes, and a line's end.
func batched(r *bufio.Reader, e entry, most int64) (File, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return File{}, err
	}
	f := strings.Fields(line)
	if len(f) != 3 || f[0] != e.id || f[1] != "blob" {
		return File{}, fault.Wrap(fault.Invalid, errRead, "object %s of %q: git says %q", e.id, e.path, strings.TrimSpace(line))
	}
	size, err := strconv.ParseInt(f[2], 10, 64)
	if err != nil {
		return File{}, err
	}
	text := make([]byte, min(size, most+1))
	if _, err := io.ReadFull(r, text); err != nil {
		return File{}, err
	}
	if _, err := io.CopyN(io.Discard, r, size-int64(len(text))+1); err != nil {
		return File{}, err
	}
	if e.mode == "120000" {
		return File{Path: e.path, Link: string(text)}, nil
	}
	return File{Path: e.path, Text: text}, nil
}
