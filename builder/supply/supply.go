package supply

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"

	"noxmesh/builder/depot"
	"noxmesh/builder/gateway"
	"noxmesh/builder/lock"
	"noxmesh/internal/fault"
)

// Upstreams are where the operator of a builder has things fetched from: each
// http or https, or empty for nowhere.
type Upstreams struct {
	Go     string // a proxy of Go modules
	Npm    string // a registry of npm packages
	Python string // an index of Python projects, as PEP 503 or PEP 691 has it
	Cargo  string // where crates are downloaded from: "dl" in a registry's config.json
}

// Public are those that the tools ask by themselves.
func Public() Upstreams {
	return Upstreams{
		Go: "https://proxy.golang.org", Npm: "https://registry.npmjs.org",
		Python: "https://pypi.org/simple", Cargo: "https://static.crates.io/crates",
	}
}

// Supply is what one builder gives its builds.
type Supply struct {
	depot *depot.Depot
	from  Upstreams
}

// New is a supply from these upstreams, or why one of them cannot be asked.
func New(d *depot.Depot, from Upstreams) (*Supply, error) {
	for _, at := range []*string{&from.Go, &from.Npm, &from.Python, &from.Cargo} {
		*at = strings.TrimRight(*at, "/")
		u, err := url.Parse(*at)
		if *at != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "") {
			return nil, fault.New(fault.Invalid, "%q is no address that dependencies can be fetched from, want one as https://proxy.example/path", *at)
		}
	}
	return &Supply{d, from}, nil
}

// Order is what one build is given.
type Order struct {
	Locks   lock.Locks
	At      string            // how its commands reach the server: "http://127.0.0.1:3129"
	Fresh   bool              // nothing that was kept is used: all is fetched anew
	Note    func(line string) // takes what is to be said in its log
	Outside gateway.Config    // how addresses are reached that the lock files name
}

// Session is the server of one build. A nil one gives nothing.
type Session struct {
	order   Order
	depot   *depot.Depot
	from    Upstreams
	fetcher *fetcher
	answers map[string]http.HandlerFunc // by path
	ledger
}

// Open is a server for one build that nobody asks yet.
func (s *Supply) Open(o Order) *Session {
	x := &Session{order: o, depot: s.depot, from: s.from, answers: map[string]http.HandlerFunc{}}
	o.Outside.Note = func(string) {} // who is asked stands in the lock file, and what goes wrong is said with it
	x.fetcher = newFetcher(s.from, gateway.New(o.Outside))
	x.addGo()
	x.addNpm()
	x.addPython()
	x.addCargo()
	return x
}

// mostAtOnce is how many ask at one time.
const mostAtOnce = 64

// Serve answers whoever connects to a listener, until ctx ends. When it returns,
// nothing is fetched any more.
func (x *Session) Serve(ctx context.Context, l net.Listener) error {
	return gateway.Host(ctx, l, x, mostAtOnce)
}

func (x *Session) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := r.URL.Path
	if r.URL.RawQuery != "" {
		key += "?" + r.URL.RawQuery
	}
	answer := x.answers[key]
	if kind, sum, ok := pythonFile(key); ok && answer == nil { // the name of a file stands behind its hash
		answer = x.answers[kind+sum]
	}
	switch wrong := x.Wrong(); {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		refuse(w, http.StatusMethodNotAllowed, fault.New(fault.Denied, "nothing can be put here"))
	case answer == nil:
		err := x.unnamed(key)
		x.lacks(err)
		refuse(w, http.StatusNotFound, err)
	case wrong != nil: // the build has ended
		refuse(w, http.StatusForbidden, wrong)
	default:
		answer(w, r)
	}
}

// refuse says why to the tool, with a status after which none tries again.
func refuse(w http.ResponseWriter, code int, err error) {
	http.Error(w, "mesh-builder: "+worded(err), code)
}

// unnamed is what is said of a path that no lock file names.
func (x *Session) unnamed(key string) error {
	kind, rest, _ := strings.Cut(strings.TrimPrefix(key, "/"), "/")
	switch kind {
	case "go":
		return x.unnamedGo(rest)
	case "npm":
		return x.unnamedNpm(rest)
	case "pypi":
		return x.unnamedPython(rest)
	case "cargo":
		return x.unnamedCrate(rest)
	}
	return fault.New(fault.NotFound, "%q is named by no lock file", shortly(key))
}

// shortly is the beginning of what a build has said, on one line.
func shortly(s string) string {
	s = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return '?'
		}
		return c
	}, strings.ToValidUTF8(s, "?"))
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[:200], "") + "…"
	}
	return s
}

// Env is what commands are told, so that their tools ask here.
func (x *Session) Env() [][2]string {
	if x == nil {
		return nil
	}
	return slices.Concat(x.envGo(), x.envNpm(), x.envPython())
}

// reads reports whether the tree has a lock file of one of these names.
func (x *Session) reads(names ...string) bool {
	return slices.ContainsFunc(x.order.Locks.Files, func(file string) bool { return slices.Contains(names, path.Base(file)) })
}

// nowhere is an ecosystem that the operator fetches nothing of.
func nowhere(what, flag string) error {
	return fault.New(fault.NotFound, "this builder fetches no %s", what).With("its operator lets it with %s", flag)
}
