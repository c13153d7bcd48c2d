package host

import (
	"context"
	"errors"
	"io"
	"os"

	"noxmesh/declaration"
	"noxmesh/host/keep"
	"noxmesh/host/resource"
	"noxmesh/internal/fault"
	"noxmesh/report"
)

// Apply makes the machine once what the file says, without a mesh. The file is a
// declaration as it stands in the mesh's documents, unsigned; its bodies are in
// it, or blobs in a folder (DIR/sha256/HEX). The record is the same: what a
// later file no longer declares is removed.
func Apply(ctx context.Context, cfg Config, file, blobs string) (_ report.Report, err error) {
	d, err := readDeclaration(file)
	if err != nil {
		return report.Report{}, err
	}
	source := folder{}
	if blobs != "" {
		if source.root, err = os.OpenRoot(blobs); err != nil {
			return report.Report{}, fault.Wrap(fault.NotFound, err, "open the folder of blobs %q", blobs)
		}
		defer func() { err = errors.Join(err, source.root.Close()) }()
	}
	n, err := open(cfg)
	if err != nil {
		return report.Report{}, err
	}
	defer func() { err = errors.Join(err, n.close()) }()
	if err := n.alone(); err != nil {
		return report.Report{}, err
	}
	if err := resource.Refuse(n.sys, d.Body); err != nil {
		return report.Report{}, fault.Add(err, "refuse %q", file)
	}
	return n.once(ctx, d, where{d.Where, source})
}

// alone refuses a node of a mesh: two wills on one machine would undo each other.
func (n *node) alone() error {
	j, err := n.folder.Joined()
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	return fault.New(fault.Conflict, "this machine is node %q of mesh %q, which says what it should be", j.Name, j.Mesh).
		With("to take it out of the mesh, type mesh node remove %s where the mesh is, then move %q away", j.Name, n.folder.Name())
}

// once is a pass whose declaration has no part in the mesh's order: its tuple is
// in the report and not in the state.
func (n *node) once(ctx context.Context, d declaration.Declaration, source resource.Source) (report.Report, error) {
	before := n.state.Applied
	r, err := n.pass(ctx, d, report.CauseDeclaration, source)
	if err != nil {
		return r, err
	}
	n.state.Applied = before
	if err := n.saveState(); err != nil {
		return r, err
	}
	return r, n.folder.SaveLatest(keep.Latest{Report: r, Committed: true})
}

func readDeclaration(file string) (declaration.Declaration, error) {
	f, err := os.Open(file)
	if err != nil {
		return declaration.Declaration{}, fault.Wrap(fault.NotFound, err, "read the declaration")
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, int64(declaration.Limits.Bytes)+1))
	if err != nil {
		return declaration.Declaration{}, fault.Wrap(fault.NotFound, err, "read the declaration")
	}
	return declaration.DecodeFile(file, b)
}
