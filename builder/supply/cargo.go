package supply

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"noxmesh/builder/lock"
	"noxmesh/delivery/imports/rust"
	"noxmesh/internal/fault"
)

const (
	mostCrate    = 256 << 20
	mostUnpacked = 1 << 30 // of a crate, until its Cargo.toml was found
	mostManifest = 4 << 20
)

// addCargo serves what Cargo.lock names as a registry of crates does. Its index is
// made of the crates themselves: what each says of itself is proven with it.
func (x *Session) addCargo() {
	if x.from.Cargo == "" {
		return
	}
	named := map[string][]lock.Crate{}
	for _, c := range x.order.Locks.Crates {
		if all := named[c.Name]; !slices.ContainsFunc(all, func(o lock.Crate) bool { return o.Version == c.Version && o.Hash == c.Hash }) {
			named[c.Name] = append(all, c)
			x.answers["/cargo/dl/"+c.Name+"/"+c.Version+"/download"] = x.give(x.crate(c))
		}
	}
	if len(named) > 0 {
		x.answers["/cargo/config.json"] = text("application/json", `{"dl":"`+x.order.At+`/cargo/dl"}`)
	}
	for name, all := range named {
		x.answers["/cargo/"+indexPath(name)] = x.crates(all)
	}
}

func (x *Session) crate(c lock.Crate) file {
	return file{
		name: "crate " + c.Name + " " + c.Version, in: c.In, hashes: []lock.Hash{c.Hash}, media: "application/gzip", most: mostCrate,
		from: place{url: x.from.Cargo + "/" + c.Name + "/" + c.Version + "/download", own: true},
	}
}

// indexPath is where an index has a crate.
func indexPath(name string) string {
	name = strings.ToLower(name)
	switch n := len(name); n {
	case 1, 2:
		return string(rune('0'+n)) + "/" + name
	case 3:
		return "3/" + name[:1] + "/" + name
	}
	return name[:2] + "/" + name[2:4] + "/" + name
}

// crates answers with what an index says of these versions of a crate.
func (x *Session) crates(all []lock.Crate) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var b strings.Builder
		for _, c := range all {
			line, err := x.indexLine(r.Context(), c)
			if err != nil {
				x.fails(w, r, fault.Add(err, "the dependency crate %s %s, which %q names", c.Name, c.Version, c.In))
				return
			}
			b.WriteString(line + "\n")
		}
		text("text/plain; charset=UTF-8", b.String())(w, r)
	}
}

// indexLine is what an index says of a crate.
func (x *Session) indexLine(ctx context.Context, c lock.Crate) (string, error) {
	f, err := x.have(ctx, x.crate(c))
	if err != nil {
		return "", err
	}
	defer f.Close()
	manifest, err := cargoToml(io.NewSectionReader(f, 0, f.Size), c.Name+"-"+c.Version+"/Cargo.toml")
	if err != nil {
		return "", err
	}
	p, err := rust.DecodePublished(manifest)
	if err != nil {
		return "", fault.Wrap(fault.Invalid, err, "its Cargo.toml")
	}
	if p.Name != c.Name || p.Version != c.Version {
		return "", fault.New(fault.Invalid, "by its Cargo.toml it is %s %s", shortly(p.Name), shortly(p.Version))
	}
	b, err := json.Marshal(lineOf(p, c))
	if err != nil {
		return "", fault.Wrap(fault.Broken, err, "write what an index says")
	}
	return string(b), nil
}

// cargoToml is the manifest in a crate.
func cargoToml(packed io.Reader, name string) (string, error) {
	z, err := gzip.NewReader(packed)
	if err != nil {
		return "", fault.Wrap(fault.Invalid, err, "it is no crate")
	}
	in := tar.NewReader(io.LimitReader(z, mostUnpacked))
	for {
		h, err := in.Next()
		switch {
		case errors.Is(err, io.EOF):
			return "", fault.New(fault.Invalid, "it is no crate: there is no %q in it", name)
		case err != nil:
			return "", fault.Wrap(fault.Invalid, err, "it is no crate")
		case h.Name != name || h.Typeflag != tar.TypeReg:
			continue
		}
		b, err := io.ReadAll(io.LimitReader(in, mostManifest))
		if err != nil {
			return "", fault.Wrap(fault.Invalid, err, "it is no crate")
		}
		return string(b), nil
	}
}

// crateLine is a line of an index.
type crateLine struct {
	Name      string              `json:"name"`
	Version   string              `json:"vers"`
	Needs     []crateNeed         `json:"deps"`
	Sum       string              `json:"cksum"`
	Features  map[string][]string `json:"features"`
	Features2 map[string][]string `json:"features2"` // those that older ones do not understand; cargo reads both
	Yanked    bool                `json:"yanked"`
	Links     *string             `json:"links"`
	Rust      *string             `json:"rust_version"`
	Format    int                 `json:"v"`
}

type crateNeed struct {
	Name     string   `json:"name"`
	Version  string   `json:"req"`
	Features []string `json:"features"`
	Optional bool     `json:"optional"`
	Defaults bool     `json:"default_features"`
	Target   *string  `json:"target"`
	Kind     string   `json:"kind"`
	Package  *string  `json:"package"`
}

func lineOf(p rust.Published, c lock.Crate) crateLine {
	orNull := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	l := crateLine{
		Name: c.Name, Version: c.Version, Sum: c.Hash.Sum, Needs: []crateNeed{}, Format: 2,
		Features: map[string][]string{}, Features2: p.Features, Links: orNull(p.Links), Rust: orNull(p.Rust),
	}
	for _, n := range p.Needs {
		features := n.Features
		if features == nil {
			features = []string{}
		}
		l.Needs = append(l.Needs, crateNeed{n.Name, n.Version, features, n.Optional, n.Defaults, orNull(n.Target), n.Kind, orNull(n.Package)})
	}
	return l
}

// unnamedCrate is what is said of a crate that no lock file has.
func (x *Session) unnamedCrate(path string) error {
	if x.from.Cargo == "" {
		return nowhere("crates", "--crates")
	}
	name, ok := strings.CutPrefix(path, "dl/")
	if name = strings.TrimSuffix(name, "/download"); !ok {
		name = name[strings.LastIndexByte(name, '/')+1:]
	}
	return fault.New(fault.NotFound, "the crate %s is in no Cargo.lock of the tree", shortly(name)).
		With("cargo generate-lockfile, and commit Cargo.lock")
}

// Files are what commands find at a path, so that cargo asks here: it takes
// another source for its own from a file alone.
func (x *Session) Files() map[string]string {
	if x == nil || !x.reads("Cargo.lock") {
		return nil
	}
	return map[string]string{"/.cargo/config.toml": "[source.crates-io]\nreplace-with = \"mesh\"\n\n[source.mesh]\nregistry = \"sparse+" + x.order.At + "/cargo/\"\n"}
}
