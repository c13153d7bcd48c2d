package supply

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"noxmesh/builder/lock"
	"noxmesh/internal/fault"
)

const mostNpm = 1 << 30

// npmHost is the one that a lock file means where it means whichever registry is asked.
const npmHost = "registry.npmjs.org"

// addNpm serves what package-lock.json names: files where npm looks for them, and
// of each package what a registry says of it.
func (x *Session) addNpm() {
	if x.from.Npm == "" {
		return
	}
	served := map[string]file{}
	said := map[string]map[string]npmVersion{}
	for _, p := range x.order.Locks.Npm {
		at, from := x.npmPlace(p)
		f := file{name: p.Name + " " + p.Version, in: p.In, hashes: p.Hashes, from: from, media: "application/octet-stream", most: mostNpm}
		answer := x.give(f)
		if other, is := served[at]; is && !slices.Equal(other.hashes, p.Hashes) {
			answer = x.twofold(other, f)
		}
		served[at] = f
		x.answers["/npm"+at] = answer
		x.answers[at] = answer // npm before version 10 keeps no more of a registry's address than its host
		if said[p.Name] == nil {
			said[p.Name] = map[string]npmVersion{}
		}
		said[p.Name][p.Version] = npmVersion{p.Name, p.Version, npmDist{x.order.At + "/npm" + at, integrity(p.Hashes[0])}}
	}
	for name, versions := range said {
		x.answers["/npm/"+name] = text("application/json", npmSays(name, versions))
	}
}

// npmPlace is at which path npm looks for a package, and where it is fetched from.
func (x *Session) npmPlace(p lock.Npm) (at string, from place) {
	usual := "/" + p.Name + "/-/" + path.Base(p.Name) + "-" + p.Version + ".tgz"
	u, err := url.Parse(p.Resolved)
	if p.Resolved == "" || err != nil {
		return usual, place{url: x.from.Npm + usual, own: true}
	}
	at, rest := u.Path, u.EscapedPath()
	if u.RawQuery != "" {
		at, rest = at+"?"+u.RawQuery, rest+"?"+u.RawQuery
	}
	switch {
	case u.Host == npmHost:
		return at, place{url: x.from.Npm + rest, own: true}
	case strings.HasPrefix(p.Resolved, x.from.Npm+"/"):
		return at, place{url: p.Resolved, own: true}
	}
	return at, place{url: p.Resolved}
}

// twofold ends a build that asks for one of two files of which only the hosts differ.
func (x *Session) twofold(a, b file) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x.fails(w, r, fault.New(fault.Invalid, "%s in %q and %s in %q have one path on two hosts, and npm asks for both by that path alone", a.name, a.in, b.name, b.in))
	}
}

// npmSays is what a registry says of a package, as far as its lock file vouches for it.
func npmSays(name string, versions map[string]npmVersion) string {
	b, err := json.Marshal(struct {
		Name     string                `json:"name"`
		Tags     map[string]string     `json:"dist-tags"`
		Versions map[string]npmVersion `json:"versions"`
	}{name, map[string]string{}, versions})
	if err != nil {
		return ""
	}
	return string(b)
}

type npmVersion struct {
	Name    string  `json:"name"`
	Version string  `json:"version"`
	Dist    npmDist `json:"dist"`
}

type npmDist struct {
	Tarball   string `json:"tarball"`
	Integrity string `json:"integrity"`
}

// integrity is a hash as npm writes it.
func integrity(h lock.Hash) string {
	b, err := hex.DecodeString(h.Sum)
	if err != nil {
		return ""
	}
	return string(h.Form) + "-" + base64.StdEncoding.EncodeToString(b)
}

// unnamedNpm is what is said of a package that no lock file has.
func (x *Session) unnamedNpm(path string) error {
	if x.from.Npm == "" {
		return nowhere("npm packages", "--npm-registry")
	}
	return fault.New(fault.NotFound, "the npm package %s is in no package-lock.json of the tree, with a hash that proves it", shortly(path)).
		With("npm install, and commit package.json and package-lock.json; of a hash that proves nothing the log says what to do, before the first command")
}

// envNpm has npm ask here, whichever registry the lock file says, and for
// nothing else than packages.
func (x *Session) envNpm() [][2]string {
	if !x.reads("package-lock.json", "npm-shrinkwrap.json") {
		return nil
	}
	return [][2]string{
		{"npm_config_registry", x.order.At + "/npm/"},
		{"npm_config_replace_registry_host", "always"},
		{"npm_config_audit", "false"},
		{"npm_config_fund", "false"},
		{"npm_config_update_notifier", "false"},
	}
}
