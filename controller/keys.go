package controller

import (
	"crypto/tls"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"noxmesh/document"
	"noxmesh/identity"
	"noxmesh/internal/bus/broker"
	"noxmesh/internal/disk"
	"noxmesh/internal/fault"
	"noxmesh/link"
)

// certificateLives is how long a listener's certificate is good for. One is
// made at each start, so that none ever runs out in a running mesh's hands.
const certificateLives = 5 * 365 * 24 * time.Hour

// keys is who this controller is: the mesh's id, the key that declares, and
// everything that nodes pin when they join.
type keys struct {
	mesh     string
	holder   string // names this data folder to the fence
	root     link.PublicKey
	declare  link.Key
	document link.Envelope // signed by the root: which keys may declare
	version  int64         // of the document
	ca       identity.CA
	broker   broker.Keys
}

// keysForm is keys as they are kept, in one file that is written once.
type keysForm struct {
	Format   int            `json:"format"`
	Mesh     string         `json:"mesh"`
	Holder   string         `json:"holder"`
	Root     link.PublicKey `json:"root"`
	Declare  []byte         `json:"declare"`
	Document link.Envelope  `json:"document"`
	CA       []byte         `json:"ca"`
	Broker   []byte         `json:"broker"`
}

const (
	keysFile = "keys.json"
	rootFile = "root.key"
)

// openKeys reads the keys of a data folder, and makes them at the first start.
func openKeys(dir string, now time.Time) (keys, error) {
	data, err := os.ReadFile(filepath.Join(dir, keysFile))
	if errors.Is(err, fs.ErrNotExist) {
		if data, err = makeKeys(dir, now); err != nil {
			return keys{}, err
		}
		return parseKeys(data)
	}
	if err != nil {
		return keys{}, fault.Wrap(fault.Unavailable, err, "read the controller's keys")
	}
	return parseKeys(data)
}

// makeKeys makes a mesh. The root key is written beside the others, for its
// owner to take away: nothing of the controller reads it again.
func makeKeys(dir string, now time.Time) ([]byte, error) {
	root, err := link.NewKey()
	if err != nil {
		return nil, err
	}
	declare, err := link.NewKey()
	if err != nil {
		return nil, err
	}
	form := keysForm{Format: 1, Mesh: identity.NewID(), Holder: identity.NewID(), Root: root.Public(), Declare: declare.Seed()}
	form.Document, err = link.Seal(root, link.TypeKeys, link.Keys{
		Format: link.Format, Mesh: form.Mesh, Version: 1, Declare: []link.PublicKey{declare.Public()},
	})
	if err != nil {
		return nil, err
	}
	ca, err := identity.NewCA(now)
	if err != nil {
		return nil, err
	}
	if form.CA, err = ca.Encode(); err != nil {
		return nil, err
	}
	seeds, err := broker.NewKeys()
	if err != nil {
		return nil, err
	}
	if form.Broker, err = seeds.Encode(); err != nil {
		return nil, err
	}
	data, err := document.Canonical(form)
	if err != nil {
		return nil, err
	}
	// The root first: a mesh whose root nobody has could never change its keys.
	if err := disk.Write(filepath.Join(dir, rootFile), []byte(base64.StdEncoding.EncodeToString(root.Seed())+"\n")); err != nil {
		return nil, err
	}
	return data, disk.Write(filepath.Join(dir, keysFile), data)
}

func parseKeys(data []byte) (keys, error) {
	form, err := document.Decode[keysForm](keysFile, data, document.Limits{Bytes: 1 << 20, Depth: 8})
	if err != nil {
		return keys{}, fault.Add(err, "read the controller's keys")
	}
	k := keys{mesh: form.Mesh, holder: form.Holder, root: form.Root, document: form.Document}
	if k.declare, err = link.KeyFromSeed(form.Declare); err != nil {
		return k, err
	}
	held, err := link.VerifyKeys(form.Document, form.Root, link.Keys{Mesh: form.Mesh})
	if err != nil {
		return k, fault.Add(err, "read the controller's key document")
	}
	k.version = held.Version
	if k.ca, err = identity.ParseCA(form.CA); err != nil {
		return k, err
	}
	k.broker, err = broker.ParseKeys(form.Broker)
	return k, err
}

// certificate is a fresh one for every listener.
func (k keys) certificate(names []string, now time.Time) (tls.Certificate, error) {
	return k.ca.Issue(names, now, certificateLives)
}
