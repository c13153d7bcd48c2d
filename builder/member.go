package builder

import (
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"noxmesh/delivery/build"
	"noxmesh/document"
	"noxmesh/identity"
	"noxmesh/internal/bus"
	"noxmesh/internal/disk"
	"noxmesh/internal/fault"
	"noxmesh/link"
)

// member is who a builder is in its mesh. It never prints its keys.
type member struct {
	Mesh    string
	Builder string
	Name    string
	Root    link.PublicKey

	key    link.Key
	nats   bus.Seed
	secret identity.Secret // for the registry
	joined joined
}

// secrets is everything of it that nobody else is to know, as it may be written.
func (m member) secrets() []identity.Secret {
	return []identity.Secret{m.secret, identity.SecretFrom(string(m.nats)), identity.SecretFrom(hex.EncodeToString(m.key.Seed()))}
}

// own is identity.json: the secret halves of the keys that were made here.
type own struct {
	Format int    `json:"format"`
	Sign   string `json:"sign"` // hexadecimal
	Nats   string `json:"nats"`
	Token  string `json:"token,omitempty"` // the id of the token that they were made for
}

// joined is joined.json: what the mesh said, and the root that was pinned.
type joined struct {
	Format         int            `json:"format"`
	Mesh           string         `json:"mesh"`
	ID             string         `json:"id"`
	Name           string         `json:"name"`
	Root           link.PublicKey `json:"root"`
	CA             string         `json:"ca"`
	Broker         string         `json:"broker"`
	JWT            string         `json:"jwt"`
	Registry       string         `json:"registry"`
	RegistrySecret string         `json:"registry_secret"`
	Keys           link.Envelope  `json:"keys"`
}

const (
	ownFile     = "identity.json"
	joinedFile  = "joined.json"
	countFile   = "counter"
	stateFormat = 1
)

func stateLimits() document.Limits { return document.Limits{Bytes: 128 << 10, Depth: 5} }

// Join lets this builder into the mesh that the token names, and keeps what it
// said. A join that was cut off can be tried again while the token lasts.
func Join(ctx context.Context, c Config, token identity.Token) error {
	s, err := openState(c.State)
	if err != nil {
		return err
	}
	lock, err := s.lock()
	if err != nil {
		return err
	}
	defer lock.Close()
	if j, err := s.joined(); err == nil {
		return fault.New(fault.Conflict, "this builder has joined the mesh %q already, as %q", j.Mesh, j.Name).
			With("to join another, give it another folder with --state")
	}
	key, seed, err := s.keysFor(token.ID)
	if err != nil {
		return err
	}
	public, err := seed.Public()
	if err != nil {
		return err
	}
	a, err := identity.Join(ctx, token, identity.JoinRequest{
		Kind: identity.KindBuilder, Name: machineName(), Sign: key.Public(), Nats: public, Version: c.Version, Speaks: []int{build.Format},
	})
	if err != nil {
		return err
	}
	return s.keepJoined(joined{
		Format: stateFormat, Mesh: a.Mesh, ID: a.ID, Name: a.Name, Root: token.Root, CA: a.CA, Broker: a.Broker, JWT: a.JWT,
		Registry: a.Registry, RegistrySecret: a.RegistrySecret, Keys: a.Keys,
	})
}

// machineName is the machine's own name, in the form that the mesh takes.
func machineName() string {
	name, err := os.Hostname()
	if err != nil {
		return "builder"
	}
	name, _, _ = strings.Cut(strings.ToLower(name), ".")
	name = strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, name), "-")
	if name == "" {
		return "builder"
	}
	return name[:min(len(name), 63)]
}

// keysFor are the keys to join with. They belong to the token: whoever tries
// again with it has the same keys, and with another it has others, since the mesh
// may have taken back what it knew under the first.
func (s state) keysFor(token string) (link.Key, bus.Seed, error) {
	o, err := s.own()
	if errors.Is(err, fs.ErrNotExist) || err == nil && o.Token != token {
		return s.makeKeys(token)
	}
	if err != nil {
		return link.Key{}, "", err
	}
	return o.keys()
}

func (s state) own() (own, error) {
	data, err := os.ReadFile(s.path(ownFile))
	if err != nil {
		return own{}, fault.Wrap(fault.Unavailable, err, "read the builder's keys")
	}
	return document.Decode[own](ownFile, data, stateLimits())
}

// keys are this builder's.
func (s state) keys() (link.Key, bus.Seed, error) {
	o, err := s.own()
	if err != nil {
		return link.Key{}, "", err
	}
	return o.keys()
}

func (o own) keys() (link.Key, bus.Seed, error) {
	seed, err := hex.DecodeString(o.Sign)
	if err != nil {
		return link.Key{}, "", fault.New(fault.Invalid, "%s: the signing key is not whole", ownFile)
	}
	key, err := link.KeyFromSeed(seed)
	return key, bus.Seed(o.Nats), err
}

func (s state) makeKeys(token string) (link.Key, bus.Seed, error) {
	key, err := link.NewKey()
	if err != nil {
		return link.Key{}, "", err
	}
	seed, _, err := bus.NewUserSeed()
	if err != nil {
		return link.Key{}, "", err
	}
	body, err := document.Canonical(own{stateFormat, hex.EncodeToString(key.Seed()), string(seed), token})
	if err != nil {
		return link.Key{}, "", err
	}
	return key, seed, disk.Write(s.path(ownFile), body)
}

func (s state) joined() (joined, error) {
	data, err := os.ReadFile(s.path(joinedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return joined{}, fault.New(fault.NotFound, "this builder has not joined a mesh").
			With("mesh builder add NAME prints a token for: mesh-builder join TOKEN --state %s", s.dir)
	}
	if err != nil {
		return joined{}, fault.Wrap(fault.Unavailable, err, "read %q", joinedFile)
	}
	return document.Decode[joined](joinedFile, data, stateLimits())
}

func (s state) keepJoined(j joined) error {
	body, err := document.Canonical(j)
	if err != nil {
		return err
	}
	return disk.Write(s.path(joinedFile), body)
}

// followKeys keeps a newer key document.
func (s state) followKeys(keys link.Envelope) error {
	j, err := s.joined()
	if err != nil {
		return err
	}
	j.Keys = keys
	return s.keepJoined(j)
}

// member is who this builder is, and the key document that it holds.
func (s state) member() (member, link.Keys, error) {
	j, err := s.joined()
	if err != nil {
		return member{}, link.Keys{}, err
	}
	keys, err := link.VerifyKeys(j.Keys, j.Root, link.Keys{Mesh: j.Mesh})
	if err != nil {
		return member{}, link.Keys{}, err
	}
	key, seed, err := s.keys()
	if err != nil {
		return member{}, link.Keys{}, err
	}
	return member{j.Mesh, j.ID, j.Name, j.Root, key, seed, identity.SecretFrom(j.RegistrySecret), j}, keys, nil
}

// block is how many numbers beyond the last a builder may give while its disk
// takes no more: enough to say so for days.
const block = 1 << 16

// counter is the builder's one number for its questions. It only ever goes up,
// so an answer is never taken for that to another question.
type counter struct {
	last     int64
	reserved int64 // durable: no number above it was ever given
}

// count is the next number, and why the state does not keep another: there is
// a number all the same as long as any is reserved.
func (s state) count(c *counter) (n int64, unkept, err error) {
	if c.reserved == 0 {
		if c.reserved, err = s.counted(); err != nil {
			return 0, nil, err
		}
		c.last = c.reserved
	}
	c.last++
	until := c.last + block
	err = disk.Write(s.path(countFile), []byte(strconv.FormatInt(until, 10)+"\n"))
	if err == nil {
		c.reserved = until
		return c.last, nil, nil
	}
	if c.last > c.reserved {
		return 0, nil, err
	}
	return c.last, err, nil
}

func (s state) counted() (int64, error) {
	data, err := os.ReadFile(s.path(countFile))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fault.Wrap(fault.Unavailable, err, "read the counter")
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	if err != nil {
		return 0, fault.Wrap(fault.Invalid, err, "read the counter")
	}
	return n, nil
}
