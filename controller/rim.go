package controller

import (
	"context"
	"net/http"
	"time"

	"noxmesh/document"
	"noxmesh/image"
	"noxmesh/internal/bus"
	"noxmesh/internal/db"
	"noxmesh/internal/git"
	"noxmesh/internal/oci"
	"noxmesh/internal/oci/remote"
	"noxmesh/link"
)

// Record is the database that a controller keeps what it knows in, held by it.
type Record interface {
	// Read runs f on one consistent state. Called side by side.
	Read(ctx context.Context, f func(*db.Tx) error) error
	// Write runs f in one transaction under the fence; nil means that it is
	// durable. Called side by side, and f may be run more than once.
	Write(ctx context.Context, f func(*db.Tx) error) error
	// Epoch is the epoch that this process writes in.
	Epoch() int64
}

// Forge is where source is read.
type Forge interface {
	// Look finds what is at a place; known says what need not be read again.
	// Called side by side for several modules, and for one where somebody asks
	// about a commit while the loop looks.
	Look(ctx context.Context, p git.Place, known git.Known) (git.Found, error)
	// Descends finds how a commit stands to the one that stood in its place
	// before. Called as Look is; what it finds is shown, and decides nothing.
	Descends(ctx context.Context, p git.Place, commit, from string) (git.Descent, error)
	// Held reports whether the forge of this address has asked to be left alone and
	// is at this time, when Look is git.Later. Called whenever somebody asks for a status.
	Held(url string, now time.Time) (git.Held, bool)
	// Whole finds the one commit whose id begins with short. Called for somebody
	// who waits, as Look is.
	Whole(ctx context.Context, url, short string) (string, error)
}

// Bus is the mesh's own connection to the broker.
type Bus interface {
	// Serve answers the requests on subject, side by side. Called once for each
	// pattern, before anything is published.
	Serve(subject string, handle bus.Handler) error
	// Publish sends data; nil means that the broker has it. Without a connection
	// it is fault.Unavailable.
	Publish(ctx context.Context, subject string, data []byte) error
}

// Registry is where artifacts lie, to look whether they still do, and what builders
// say of them.
type Registry interface {
	// HasManifest reports whether the manifest is there; one that does not answer
	// is fault.Unavailable.
	HasManifest(ctx context.Context, repository string, digest document.Digest) (bool, error)
	// HasBlob reports the same of a blob.
	HasBlob(ctx context.Context, repository string, digest document.Digest, size int64) (bool, error)
	// PullManifest is the manifest with this digest: NotFound where it is not there,
	// and Invalid where what is there is another or cannot be read.
	PullManifest(ctx context.Context, repository string, digest document.Digest) (oci.Manifest, error)
	// PullBytes is the same of a small blob.
	PullBytes(ctx context.Context, b oci.Blob) ([]byte, error)
}

// Members is who may use the broker.
type Members interface {
	// UserJWT is the credential of one that joins.
	UserJWT(side link.Side, id, public string) (string, error)
	// Revoke takes a key's right away and cuts its connection.
	Revoke(side link.Side, public string) error
}

// Images is where it is found out which image a name means.
type Images interface {
	// Resolve finds where a name points for a platform; known is the head that
	// need not be read again. Called side by side.
	Resolve(ctx context.Context, of image.Reference, platform string, known document.Digest) (remote.Resolved, error)
}

// Addresses are where others reach what the controller runs.
type Addresses struct{ API, Broker, Registry string }

// Identity is who a controller is: the mesh that it declares in, and with which key.
type Identity struct {
	Mesh    string
	Root    link.PublicKey
	Declare link.Key
	Keys    link.Envelope // the key document that names it, signed by the root
	Version int64         // of the key document
}

// Rim is everything outside a controller's own memory that it uses while it runs.
type Rim struct {
	Record   Record
	Forge    Forge
	Bus      Bus
	Registry Registry
	Members  Members
	Images   Images
	At       Addresses
	Random   func() float64 // spreads the loops' looks, from 0 to below 1; nil for the system's
}

// On is the controller with this identity on this rim. Loops runs it; its API is
// served by whoever wants it. The rim is the caller's to close.
func On(cfg Config, who Identity, rim Rim) *Controller {
	c := newController(cfg)
	c.keys = keys{mesh: who.Mesh, root: who.Root, declare: who.Declare, document: who.Keys, version: who.Version}
	c.stand(rim)
	return c
}

// stand puts the controller, whose keys are known, on its rim.
func (c *Controller) stand(rim Rim) {
	c.mesh = c.keys.mesh
	c.db, c.git, c.bus, c.pull, c.broker, c.names = rim.Record, rim.Forge, rim.Bus, rim.Registry, rim.Members, rim.Images
	c.at, c.random = rim.At, rim.Random
	c.makeLoops()
}

// Operator is the API as whoever runs the controller's machine has it.
func (c *Controller) Operator() http.Handler { return asOperator(c.handlers()) }
