package archive

import (
	"bytes"
	"io/fs"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

// Format is the version of the index's form that this program writes and reads.
const Format = 1

// What an index may hold. A host decodes an index before it has seen a byte of
// the archive, so these bound its memory.
const (
	MaxIndex   = 128 << 20 // bytes of an index in its plain form
	MaxEntries = 1 << 19
	MaxPath    = 4095 // bytes of a path or of a link's target: Linux takes no more
	MaxName    = 255  // bytes of one element of a path
	MaxDepth   = 255  // elements of a path
	MaxSize    = 1 << 40
)

// Kind is what an entry is.
type Kind string

// The kinds. There are no others: a device, a FIFO or a socket has no content to deliver.
const (
	File      Kind = "file"
	Directory Kind = "directory"
	Link      Kind = "link"
)

// Index is an archive's content: every entry, sorted by the bytes of its path.
type Index struct {
	Format  int     `json:"format"`
	Entries []Entry `json:"entries"`
}

// Entry is one file, directory or link. Fields that do not belong to its kind are zero.
type Entry struct {
	Path       string          `json:"path"` // clean, relative, slashes
	Kind       Kind            `json:"kind"`
	Executable bool            `json:"executable,omitzero"` // file: its owner may execute it
	Size       int64           `json:"size,omitzero"`       // file: its bytes
	Digest     document.Digest `json:"digest,omitzero"`     // file: of its bytes
	Target     string          `json:"target,omitzero"`     // link: where it points, as it is written
}

// DecodeIndex reads an index. Anything that Pack could not have written is
// refused: an index that has been decoded is safe to unpack.
func DecodeIndex(data []byte) (Index, error) {
	if n := objects(data) - 1; n > MaxEntries {
		return Index{}, fault.New(fault.Invalid, "index: %d entries, at most %d are read", n, MaxEntries)
	}
	idx, err := document.Decode[Index]("index", data, document.Limits{Bytes: MaxIndex, Depth: 4})
	if err != nil {
		return Index{}, err
	}
	if err := idx.Check(); err != nil {
		return Index{}, fault.Add(err, "index")
	}
	plain, err := idx.Encode()
	if err != nil {
		return Index{}, err
	}
	if !bytes.Equal(plain, data) {
		return Index{}, fault.New(fault.Invalid, "index: not in its canonical form").
			With("an index is canonical JSON (RFC 8785) and leaves out what is empty")
	}
	return idx, nil
}

// objects is how many objects a text begins: so many entries that nobody wants
// are refused before there is room made for each.
func objects(text []byte) (n int) {
	inside := false // a string
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			inside = !inside
		case c == '\\' && inside:
			i++
		case c == '{' && !inside:
			n++
		}
	}
	return n
}

// Encode is the index in its one plain form.
func (idx Index) Encode() ([]byte, error) { return document.Canonical(idx) }

// Digest is the archive's identity.
func (idx Index) Digest() (document.Digest, error) { return document.CanonicalDigest(idx) }

// Size is the bytes of all files together.
func (idx Index) Size() int64 {
	var n int64
	for i := range idx.Entries {
		n += idx.Entries[i].Size
	}
	return n
}

// Mode is the permissions that a file or a directory has on a machine. There
// are no others: no setuid, no write access for more than the owner.
func (e Entry) Mode() fs.FileMode {
	if e.Kind == Directory || e.Executable {
		return 0o755
	}
	return 0o644
}
