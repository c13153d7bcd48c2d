package keep

import (
	"strings"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/link"
	"noxmesh/report"
)

// The files, but for the record.
const (
	identityFile = "identity"
	joinedFile   = "joined"
	acceptedFile = "accepted"
	stateFile    = "state"
	counterFile  = "counter"
	indexPrefix  = "index-"
)

func limits() document.Limits { return document.Limits{Bytes: 16 << 20, Depth: 24} }

// Joined is the mesh that this node belongs to, and how to reach it.
type Joined struct {
	Mesh     string         `json:"mesh"`
	Node     string         `json:"node"`
	Name     string         `json:"name"`
	Root     link.PublicKey `json:"root"` // pinned for good: it names the declare keys
	CA       string         `json:"ca"`   // PEM
	Broker   string         `json:"broker"`
	Registry string         `json:"registry"`
	JWT      string         `json:"jwt"`
	Secret   string         `json:"secret"` // with which the registry lets this node read
	Keys     link.Envelope  `json:"keys"`   // the key document that is held
}

// State is the host's word on itself between two passes.
type State struct {
	Applied declaration.Tuple `json:"applied"`
	Trouble *report.Trouble   `json:"trouble,omitempty"`
	Others  []report.Trouble  `json:"others,omitempty"`  // the other troubles since the last pass that was clean, the newest first
	Waiting map[string]int64  `json:"waiting,omitempty"` // by resource id: since when, Unix milliseconds by the node's clock
	Facts   document.Digest   `json:"facts,omitempty"`   // of those that the controller has
}

// Joined is the mesh that this node has joined, or fault.NotFound.
func (f *Folder) Joined() (Joined, error) { return read[Joined](f, joinedFile) }

// SaveJoined makes it durable.
func (f *Folder) SaveJoined(j Joined) error { return save(f, joinedFile, j) }

// Accepted is the envelope of the highest declaration that was accepted, or
// fault.NotFound where there has been none.
func (f *Folder) Accepted() (link.Envelope, error) { return read[link.Envelope](f, acceptedFile) }

// DropAccepted forgets it: the order of another mesh has no part in this one's.
func (f *Folder) DropAccepted() error { return f.remove(acceptedFile) }

// SaveAccepted makes it durable. It comes before the declaration's first effect.
func (f *Folder) SaveAccepted(e link.Envelope) error { return save(f, acceptedFile, e) }

// State is the host's state, or the zero one where there has been none.
func (f *Folder) State() (State, error) {
	s, err := read[State](f, stateFile)
	if fault.KindOf(err) == fault.NotFound {
		return State{}, nil
	}
	return s, err
}

// SaveState makes it durable.
func (f *Folder) SaveState(s State) error { return save(f, stateFile, s) }

func save[T any](f *Folder, name string, v T) error {
	b, err := document.Canonical(v)
	if err != nil {
		return err
	}
	return f.write(name, b)
}

func read[T any](f *Folder, name string) (T, error) {
	var none T
	b, err := f.read(name)
	if err != nil {
		return none, err
	}
	v, err := document.Decode[T](name, b, limits())
	if err != nil {
		return none, f.damaged(name, err)
	}
	return v, nil
}

// Index is an archive's index as it travels, kept so that the archive is read
// back without asking anybody; fault.NotFound where it is not kept.
func (f *Folder) Index(digest document.Digest) ([]byte, error) {
	return f.read(indexPrefix + digest.Hex())
}

// SaveIndex makes it durable.
func (f *Folder) SaveIndex(digest document.Digest, compressed []byte) error {
	return f.write(indexPrefix+digest.Hex(), compressed)
}

// KeepIndexes drops every index but these.
func (f *Folder) KeepIndexes(digests []document.Digest) error {
	keep := map[string]bool{}
	for _, d := range digests {
		keep[indexPrefix+d.Hex()] = true
	}
	names, err := f.root.Own()
	if err != nil {
		return fault.Wrap(fault.Unavailable, f.cause(err), "list %q", f.name)
	}
	for _, name := range names {
		if strings.HasPrefix(name, indexPrefix) && !keep[name] {
			if err := f.remove(name); err != nil {
				return err
			}
		}
	}
	return nil
}
