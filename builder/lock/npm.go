package lock

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"noxmesh/internal/fault"
)

// packageLock is what counts of a package-lock.json.
type packageLock struct {
	Version  int                   `json:"lockfileVersion"`
	Packages map[string]npmPackage `json:"packages"`
}

type npmPackage struct {
	Name      string `json:"name"`
	Version   string `json:"version"`
	Resolved  string `json:"resolved"`
	Integrity string `json:"integrity"`
	Link      bool   `json:"link"`
	InBundle  bool   `json:"inBundle"`
}

// DecodeNpm reads a package-lock.json or an npm-shrinkwrap.json.
func DecodeNpm(file string, data []byte) (all []Npm, faults []error) {
	var l packageLock
	if err := json.Unmarshal(data, &l); err != nil {
		return nil, []error{fault.New(fault.Invalid, "%s is no lock file of npm: %s", at(file, 0), short(err.Error())).With("npm install writes it anew")}
	}
	if l.Version != 2 && l.Version != 3 {
		return nil, []error{fault.New(fault.Invalid, "%s is of the lockfileVersion %d, which says too little; want 2 or 3", at(file, 0), l.Version).
			With("npm install --package-lock-only, with npm 7 or newer, writes it anew")}
	}
	for _, key := range slices.Sorted(maps.Keys(l.Packages)) {
		p := l.Packages[key]
		if p.near(key) {
			continue
		}
		one, err := p.named(key)
		if err != nil {
			faults = append(faults, fault.Add(err, "%s: %q", at(file, 0), short(key)))
			continue
		}
		one.In = file
		all = append(all, one)
	}
	return all, faults
}

// near reports whether a package is of the tree itself, or inside of another one.
func (p npmPackage) near(key string) bool {
	return key == "" || p.Link || p.InBundle || !strings.Contains(key, "node_modules/") && p.Resolved == "" || strings.HasPrefix(p.Resolved, "file:")
}

// named is what the lock file says of a package at this path of the tree.
func (p npmPackage) named(key string) (Npm, error) {
	if p.Name == "" {
		p.Name = key
		if i := strings.LastIndex(key, "node_modules/"); i >= 0 {
			p.Name = key[i+len("node_modules/"):]
		}
	}
	n := Npm{Name: p.Name, Version: p.Version, Resolved: p.Resolved}
	if !npmName(p.Name) {
		return n, fault.New(fault.Invalid, "%q is no name of a package", short(p.Name))
	}
	if !only(p.Version, ".-+") {
		return n, fault.New(fault.Invalid, "%q is no version", short(p.Version))
	}
	if p.Resolved != "" {
		if err := fetchable(p.Resolved); err != nil {
			return n, err
		}
	}
	if n.Hashes = integrity(p.Integrity); len(n.Hashes) == 0 {
		const install = "npm keeps what stands there: remove the file and node_modules, and npm install --package-lock-only writes it anew"
		if p.Integrity == "" {
			return n, fault.New(fault.Invalid, "it has no integrity").With(install)
		}
		return n, fault.New(fault.Invalid, "the integrity %q proves nothing, want sha512", short(p.Integrity)).With(install)
	}
	return n, nil
}

func npmName(name string) bool {
	scope, rest, scoped := strings.Cut(name, "/")
	if !scoped {
		scope, rest = "@x", name
	}
	scope, at := strings.CutPrefix(scope, "@")
	return at && len(name) <= 214 && only(scope, "-._~") && only(rest, "-._~") && plainPath(scope) && plainPath(rest)
}

// fetchable refuses an address at which nothing is fetched, whatever is there.
func fetchable(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return fault.New(fault.Invalid, "%q is no address", short(address))
	case u.Scheme != "https" && u.Scheme != "http":
		return fault.New(fault.Invalid, "it comes from %q, and only files with a hash are fetched, over https or http", short(address))
	case u.User != nil:
		return fault.New(fault.Invalid, "the address at %q has a credential in it, and none is used", short(u.Host))
	case u.Host == "" || u.Opaque != "" || !plainPath(strings.TrimPrefix(u.Path, "/")) || strings.ContainsFunc(u.Path, func(c rune) bool { return c <= ' ' || c == '\\' || c == 0x7f }):
		return fault.New(fault.Invalid, "%q is no plain address of a file", short(address))
	}
	return nil
}

// integrity is the strongest hashes of what npm writes, those that prove something.
func integrity(text string) (all []Hash) {
	for _, form := range []Form{SHA512, SHA384, SHA256} {
		for word := range strings.FieldsSeq(text) {
			sum, ok := strings.CutPrefix(word, string(form)+"-")
			if !ok {
				continue
			}
			sum, _, _ = strings.Cut(sum, "?")
			if h, ok := HashOf(form, sum); ok {
				all = append(all, h)
			}
		}
		if len(all) > 0 {
			return all
		}
	}
	return nil
}
