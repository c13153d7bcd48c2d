package host

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"os"
	"sync"

	"noxmesh/archive"
	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/host/keep"
	"noxmesh/host/system"
	"noxmesh/internal/fault"
)

// script is a declaration in a file, which a person applies. What was read of
// the very same file before is not read again: to find a machine as declared
// takes no more than a digest of the file.
type script struct {
	file    string
	digest  document.Digest // of the file's bytes
	aim     aim
	digests []document.Digest // of the resources, where they are known
	blobs   folder

	mu    sync.Mutex // guards what follows
	where *declaration.Where
}

// readScript is the declaration in this file.
func readScript(file string) (*script, error) {
	s := &script{file: file}
	return s, s.read()
}

// planned is the same for the host at this root. Nothing on the machine is touched
// before it is known to be one; where that is known from before, it is not read until
// it is recalled.
func planned(cfg Config, file string) (*script, error) {
	if of := planOf(cfg); of != "" {
		if digest, err := digestOfFile(file); err == nil && digest == of {
			return &script{file: file, digest: digest}, nil
		}
	}
	return readScript(file)
}

// planOf is the file that a plan is kept of; empty where there is none of this program's.
// That it cannot be told is no fault: it is made again.
func planOf(cfg Config) document.Digest {
	sys, err := system.Open(cfg.Root)
	if err != nil {
		return ""
	}
	defer func() { _ = sys.Close() }() // it was only read
	f, err := keep.Look(sys)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // as well
	return f.PlanOf(cfg.Version)
}

// recall is what the plan says, or the declaration where it turns out to be none.
func (s *script) recall(n *node) error {
	if s.where != nil {
		return nil
	}
	plan, err := n.folder.Plan(n.engine.Record())
	if err != nil || plan.Of != s.digest || plan.Program != n.cfg.Version {
		return s.read()
	}
	s.aim = aim{declaration.Declaration{Mesh: plan.Mesh, Node: plan.Node, Body: plan.Body}, plan.Tuple}
	s.digests = plan.Digests
	return nil
}

// read reads the whole declaration. Where others are about, s.mu is held.
func (s *script) read() error {
	d, b, err := readDeclaration(s.file)
	if err != nil {
		return err
	}
	digest := document.Sum(b)
	if s.digest != "" && s.digest != digest {
		return fault.New(fault.Conflict, "%q changed while it was being read", s.file)
	}
	s.digest = digest
	s.where = &d.Where
	if s.aim.Body.Resources != nil {
		return nil
	}
	tuple, err := d.Tuple()
	s.aim = aim{d, tuple}
	return err
}

// keep saves the plan of what has just been applied. Without it the next one
// only takes longer.
func (s *script) keep(n *node) {
	if s.digests != nil {
		return
	}
	_ = n.folder.SavePlan(keep.Plan{ // so there is nobody to tell
		Of: s.digest, Program: n.cfg.Version, Mesh: s.aim.Mesh, Node: s.aim.Node, Tuple: s.aim.tuple,
		Body: s.aim.Body, Digests: n.engine.Digests(s.aim.Body.Resources),
	})
}

// source is where the bytes are, which is asked for only when some are missing.
func (s *script) source() (where, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.where == nil {
		if err := s.read(); err != nil {
			return where{}, err
		}
	}
	return where{Where: *s.where, blobs: s.blobs}, nil
}

// whole reports whether it is known where the bytes are.
func (s *script) whole() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.where != nil
}

// Body writes a file's bytes. A folder finds them by their digest alone.
func (s *script) Body(ctx context.Context, digest document.Digest, size int64, w io.Writer) error {
	if s.blobs.root != nil && !s.whole() {
		err := s.blobs.Pull(ctx, Blob{Digest: digest, Size: size}, w)
		if fault.KindOf(err) != fault.NotFound {
			return err
		}
	}
	from, err := s.source()
	if err != nil {
		return err
	}
	return from.Body(ctx, digest, size, w)
}

// Index is an archive's index, compressed.
func (s *script) Index(ctx context.Context, digest document.Digest) ([]byte, error) {
	from, err := s.source()
	if err != nil {
		return nil, err
	}
	return from.Index(ctx, digest)
}

// Frames is an archive's blob.
func (s *script) Frames(ctx context.Context, digest document.Digest) (archive.Source, error) {
	from, err := s.source()
	if err != nil {
		return nil, err
	}
	return from.Frames(ctx, digest)
}

// Part writes a part of an image.
func (s *script) Part(ctx context.Context, image, part document.Digest, size int64, w io.Writer) error {
	from, err := s.source()
	if err != nil {
		return err
	}
	return from.Part(ctx, image, part, size, w)
}

func digestOfFile(file string) (document.Digest, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fault.Wrap(fault.NotFound, err, "read the declaration")
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.CopyBuffer(h, onlyReader{io.LimitReader(f, int64(declaration.Limits.Bytes)+1)}, make([]byte, 64<<10)); err != nil {
		return "", fault.Wrap(fault.NotFound, err, "read the declaration")
	}
	return document.FromHash(h.Sum(nil)), nil
}

// onlyReader hides what else a reader can do.
type onlyReader struct{ io.Reader }

func readDeclaration(file string) (declaration.Declaration, []byte, error) {
	b, err := bytesOfFile(file)
	if err != nil {
		return declaration.Declaration{}, nil, fault.Wrap(fault.NotFound, err, "read the declaration")
	}
	d, err := declaration.DecodeFile(file, b)
	return d, b, err
}

// bytesOfFile is all of a file that a declaration may have, and one byte more: enough to
// be refused.
func bytesOfFile(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var b bytes.Buffer
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		b.Grow(int(min(info.Size(), int64(declaration.Limits.Bytes))) + bytes.MinRead)
	}
	_, err = b.ReadFrom(io.LimitReader(f, int64(declaration.Limits.Bytes)+1))
	return b.Bytes(), err
}
