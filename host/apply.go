package host

import (
	"context"
	"errors"

	"noxmesh/host/keep"
	"noxmesh/host/resource"
	"noxmesh/internal/clock"
	"noxmesh/internal/fault"
	"noxmesh/report"
)

// Apply makes the machine once what the file says, without a mesh. The file is a
// declaration as it stands in the mesh's documents, unsigned; its bodies are in
// it, or blobs in a folder (DIR/sha256/HEX). The record is the same: what a
// later file no longer declares is removed.
func Apply(ctx context.Context, cfg Config, file, blobs string) (_ report.Report, err error) {
	s, err := planned(cfg, file)
	if err != nil {
		return report.Report{}, err
	}
	if blobs != "" {
		if s.blobs, err = openFolder(blobs); err != nil {
			return report.Report{}, err
		}
		defer func() { err = errors.Join(err, s.blobs.Close()) }()
	}
	n, err := open(cfg)
	if err != nil {
		return report.Report{}, err
	}
	defer func() { err = errors.Join(err, n.close()) }()
	if err := n.alone(); err != nil {
		return report.Report{}, err
	}
	if err := s.recall(n); err != nil {
		return report.Report{}, err
	}
	if err := resource.Refuse(n.sys, s.aim.Body); err != nil {
		return report.Report{}, fault.Add(err, "refuse %q", file)
	}
	return n.once(ctx, s)
}

// alone refuses a node of a mesh: two wills on one machine would undo each other.
func (n *node) alone() error { return alone(n.folder) }

func alone(f *keep.Folder) error {
	j, err := f.Joined()
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	return fault.New(fault.Conflict, "this machine is node %q of mesh %q, which says what it should be", j.Name, j.Mesh).
		With("to take it out of the mesh, type mesh node remove %s where the mesh is, then move %q away", j.Name, f.Name())
}

// once is a pass whose declaration has no part in the mesh's order: its tuple is
// in the report and not in the state, and nobody is told. What is returned is the
// whole of it, however long; what is kept is what would be told.
func (n *node) once(ctx context.Context, s *script) (report.Report, error) {
	n.engine.Know(s.aim.Body.Resources, s.digests)
	r, err := n.look(ctx, s.aim, report.CauseDeclaration, s)
	if err != nil {
		return r, err
	}
	told, err := fitting(r)
	if err != nil {
		return r, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	r.Sequence = n.latest.Sequence
	if err := n.saveState(); err != nil {
		return r, err
	}
	said := says(told)
	if said == n.latest.Says && n.latest.Committed {
		n.folder.Looked(clock.Now())
	} else {
		r.Sequence++
		told.Sequence = r.Sequence
		if err := n.saveLatest(keep.Latest{Report: told, Says: said, Committed: true}); err != nil {
			return r, err
		}
	}
	if r.Applied == r.Accepted {
		s.keep(n)
	}
	return r, nil
}
