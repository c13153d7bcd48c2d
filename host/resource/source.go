package resource

import (
	"context"
	"io"

	"noxmesh/archive"
	"noxmesh/document"
	"noxmesh/host/keep"
)

// Source gives the bytes that a declaration names. What it gives is not
// believed before its digest. One that does not answer is fault.Unavailable: then
// the resource waits and has not failed.
type Source interface {
	// Body writes the bytes of a file to w; an error of w ends it. It is asked for
	// several side by side, and all else for one at a time.
	Body(ctx context.Context, digest document.Digest, size int64, w io.Writer) error
	// Index is an archive's index, compressed, by the digest of the plain one.
	Index(ctx context.Context, digest document.Digest) ([]byte, error)
	// Frames is the blob of the archive with this index.
	Frames(ctx context.Context, digest document.Digest) (archive.Source, error)
	// Part writes a part of the image with this manifest: the manifest itself, whose
	// size is the declaration's to say, its configuration or a layer.
	Part(ctx context.Context, image, part document.Digest, size int64, w io.Writer) error
}

// Keep is where the record and the indexes lie; but for one note, all that it saves is durable.
type Keep interface {
	// SaveRecord replaces the record: before a wave's effects, and after what was read back.
	SaveRecord(r keep.Record) error
	// SaveChanging notes what is about to be put back as the record on the disk has
	// it: that need only outlive this process. No paths are the end of it.
	SaveChanging(paths []string) error
	// Index is an index that was kept, compressed; an error where it is not.
	Index(digest document.Digest) ([]byte, error)
	// SaveIndex keeps one, before the first effect of its archive.
	SaveIndex(digest document.Digest, compressed []byte) error
	// KeepIndexes drops all others.
	KeepIndexes(digests []document.Digest) error
}
