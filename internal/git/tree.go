package git

import (
	"bytes"
	"context"
	"path"
	"strconv"
	"strings"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

// entry is one line of a tree.
type entry struct {
	mode, kind, id, path string
	size                 int64 // of a blob, where the line says it
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
	case saysNo(err), err == nil && !document.IsObjectID(id):
		return "", fault.Wrap(fault.NotFound, NoCommit, "commit %s", commit)
	case err != nil:
		return "", fault.Add(err, "looking for the tree of commit %s", commit)
	}
	return id, nil
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
		"--literal-pathspecs", "ls-tree", "-z", "--full-tree", "--end-of-options", commit, "--", path.Clean(file),
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

// parseEntry reads "MODE KIND ID\tPATH", or "MODE KIND ID SIZE\tPATH".
func parseEntry(line string) (entry, bool) {
	left, name, ok := strings.Cut(line, "\t")
	f := strings.Fields(left)
	if !ok || len(f) != 3 && len(f) != 4 {
		return entry{}, false
	}
	e := entry{mode: f[0], kind: f[1], id: f[2], path: name}
	if len(f) == 4 && f[3] != "-" {
		n, err := strconv.ParseInt(f[3], 10, 64)
		if err != nil {
			return entry{}, false
		}
		e.size = n
	}
	return e, document.IsObjectID(e.id)
}
