package archive

import (
	"context"
	"os"
	"slices"

	"noxmesh/internal/fault"
)

// Extra is the paths below root that the index does not name, sorted. Of a
// directory that the index does not name, what is in it is not listed.
func Extra(ctx context.Context, root *os.Root, idx Index) ([]string, error) {
	at := newFolder(root)
	defer at.close()
	named := make(map[string]bool, len(idx.Entries))
	var extra, pending []string
	for i := range idx.Entries {
		named[idx.Entries[i].Path] = true
	}
	for pending = []string{"."}; len(pending) > 0; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		dir := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		err := at.each(dir, func(in *os.Root, name string) error {
			p := join(dir, name)
			if !named[p] {
				extra = append(extra, p)
				return nil
			}
			deeper, err := isDirectory(in, name)
			if deeper {
				pending = append(pending, p)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(extra)
	return extra, nil
}

// isDirectory reports whether name is one; what has gone meanwhile is none.
func isDirectory(in *os.Root, name string) (bool, error) {
	info, err := in.Lstat(name)
	switch {
	case absent(err):
		return false, nil
	case err != nil:
		return false, fault.Wrap(fault.Unknown, err, "look at %q", name)
	}
	return info.IsDir(), nil
}
