package git

import (
	"bytes"
	"context"
	"io"
	"path"
	"strconv"
	"strings"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

// entry is one line of a tree.
type entry struct {
	mode, kind, id, path string
	size                 int64 // of a blob
}

// Tree is the id of the folder's tree at a commit that dir holds; of the root's
// where folder is empty. Its errors have the cause NoFolder.
func (g *Git) Tree(ctx context.Context, dir, commit, folder string) (string, error) {
	if err := CheckCommit(commit); err != nil {
		return "", err
	}
	if err := CheckFolder(folder); err != nil {
		return "", err
	}
	if folder != "" {
		e, err := g.entry(ctx, dir, commit, folder)
		if err != nil {
			return "", err
		}
		if e.kind != "tree" {
			return "", fault.Wrap(fault.NotFound, NoFolder, "folder %q at commit %s", folder, commit)
		}
		return e.id, nil
	}
	out, err := g.run(ctx, call{protocol: local, gitDir: dir, args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", commit + "^{tree}"}})
	id := string(bytes.TrimSpace(out))
	switch {
	case says(err, 1), err == nil && !commitID.MatchString(id):
		return "", fault.Wrap(fault.NotFound, NoCommit, "commit %s", commit)
	case err != nil:
		return "", fault.Add(err, "looking for the tree of commit %s", commit)
	}
	return id, nil
}

// ReadFile is the bytes of a regular file at a commit that dir holds, max at
// most. Nothing is followed: a link, a folder and a submodule are refused. Its
// errors have the causes NoFile, NotFile and TooBig.
func (g *Git) ReadFile(ctx context.Context, dir, commit, file string, limit int64) ([]byte, error) {
	if err := CheckCommit(commit); err != nil {
		return nil, err
	}
	if err := checkPathInTree(file); err != nil {
		return nil, fault.New(fault.Invalid, "file %q: %s", document.Short(file), err.Text)
	}
	e, err := g.entry(ctx, dir, commit, file)
	if err != nil {
		return nil, err
	}
	switch {
	case e.path == "":
		return nil, fault.Wrap(fault.NotFound, NoFile, "file %q at commit %s", file, commit)
	case e.mode != "100644" && e.mode != "100755":
		return nil, fault.Wrap(fault.Invalid, NotFile, "%q at commit %s is %s", file, commit, kindOf(e.mode)).
			With("commit it as a regular file")
	case e.size > limit:
		return nil, fault.Wrap(fault.Invalid, TooBig, "file %q at commit %s has %d bytes, at most %d are read", file, commit, e.size, limit)
	}
	var b bytes.Buffer
	_, err = g.run(ctx, call{
		protocol: local, gitDir: dir, args: []string{"cat-file", "blob", e.id},
		out: func(r io.Reader) error { return keep(&b, r, limit) },
	})
	if err != nil {
		return nil, fault.Add(err, "reading %q at commit %s", file, commit)
	}
	return b.Bytes(), nil
}

func kindOf(mode string) string {
	switch mode {
	case "120000":
		return "a link"
	case "160000":
		return "a submodule"
	case "040000":
		return "a folder"
	}
	return "of mode " + mode
}

// entry is what stands at exactly this path, or the zero entry.
func (g *Git) entry(ctx context.Context, dir, commit, file string) (entry, error) {
	out, err := g.run(ctx, call{protocol: local, gitDir: dir, args: []string{
		"--literal-pathspecs", "ls-tree", "-z", "-l", "--full-tree", "--end-of-options", commit, "--", path.Clean(file),
	}})
	if err != nil {
		return entry{}, fault.Add(err, "looking for %q at commit %s", file, commit)
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if e, ok := parseEntry(line); ok && e.path == file {
			return e, nil
		}
	}
	return entry{}, nil
}

// parseEntry reads "MODE KIND ID SIZE\tPATH".
func parseEntry(line string) (entry, bool) {
	left, name, ok := strings.Cut(line, "\t")
	f := strings.Fields(left)
	if !ok || len(f) != 4 {
		return entry{}, false
	}
	e := entry{mode: f[0], kind: f[1], id: f[2], path: name}
	if f[3] != "-" {
		n, err := strconv.ParseInt(f[3], 10, 64)
		if err != nil {
			return entry{}, false
		}
		e.size = n
	}
	return e, commitID.MatchString(e.id)
}
