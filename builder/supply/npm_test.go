package supply_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"noxmesh/internal/fault"
)

// npmLock is a package-lock.json with packages called a, each at one of these
// addresses and with this integrity.
func npmLock(integrity string, resolved ...string) map[string]string {
	packages := []string{}
	for i, at := range resolved {
		packages = append(packages, `"node_modules/`+strings.Repeat("x/node_modules/", i)+`a": {"version": "1.0.0", "resolved": "`+at+`", "integrity": "`+integrity+`"}`)
	}
	return map[string]string{"package-lock.json": `{"lockfileVersion": 3, "packages": {` + strings.Join(packages, ", ") + `}}`}
}

// Of a package that a lock file names without its address, npm asks a registry
// for its versions, and takes the one that it has.
func TestWhatARegistryOfNpmSays(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	integrity := b.registry.Npm(t, "@team/a", "1.0.0-rc.1", map[string]string{"package.json": "{}"})
	x := b.session(map[string]string{"npm-shrinkwrap.json": `{"lockfileVersion": 2, "packages": {"node_modules/@team/a": {"version": "1.0.0-rc.1", "integrity": "` + integrity + `"}}}`}, false)
	code, body := ask(t, x, "/npm/@team%2fa")
	var says struct {
		Versions map[string]struct {
			Dist struct{ Tarball, Integrity string }
		}
	}
	if err := json.Unmarshal([]byte(body), &says); err != nil || code != http.StatusOK {
		t.Fatal(code, body, err)
	}
	dist := says.Versions["1.0.0-rc.1"].Dist
	at, ours := strings.CutPrefix(dist.Tarball, "http://127.0.0.1:3128")
	if len(says.Versions) != 1 || dist.Integrity != integrity || !ours {
		t.Errorf("%+v", says)
	}
	for _, path := range []string{at, strings.TrimPrefix(at, "/npm")} { // as npm 11 asks, and as npm 8 does
		if code, body := ask(t, x, path); code != http.StatusOK || !strings.HasPrefix(body, "\x1f\x8b") {
			t.Errorf("%s: %d: %q", path, code, body)
		}
	}
	if asked := b.registry.Asked(); len(asked) != 1 {
		t.Errorf("asked for %v", asked)
	}
	env := map[string]string{}
	for _, e := range x.Env() {
		env[e[0]] = e[1]
	}
	if env["npm_config_registry"] != "http://127.0.0.1:3128/npm/" || env["GOPROXY"] != "" {
		t.Errorf("%v", env)
	}
}

// An address in a lock file leads to public machines only, and to nobody's
// neighbour; the operator's own registry is where it is.
func TestWhereALockFileMayLead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	integrity := b.registry.Npm(t, "a", "1.0.0", map[string]string{"package.json": "{}"})
	for at, c := range map[string]struct {
		path string
		kind fault.Kind
		says string
	}{
		"https://registry.npmjs.org/a/-/a-1.0.0.tgz":         {"/npm/a/-/a-1.0.0.tgz", fault.Unknown, ""},
		b.registry.URL + "/npm/a/-/a-1.0.0.tgz":              {"/npm/npm/a/-/a-1.0.0.tgz", fault.Unknown, ""},
		"http://public.example/npm/a/-/a-1.0.0.tgz":          {"/npm/npm/a/-/a-1.0.0.tgz", fault.Unknown, ""},
		b.registry.URL + "/secret/a-1.0.0.tgz":               {"/npm/secret/a-1.0.0.tgz", fault.Invalid, "is refused: it is 127.0.0.1"},
		"http://127.0.0.1:80/a.tgz":                          {"/npm/a.tgz", fault.Invalid, "is refused: it is 127.0.0.1"},
		"http://[::1]/a.tgz":                                 {"/npm/a.tgz", fault.Invalid, "is refused: it is ::1"},
		"http://169.254.169.254/latest/meta-data":            {"/npm/latest/meta-data", fault.Invalid, "is refused: it is 169.254.169.254"},
		"http://inside.example/a.tgz":                        {"/npm/a.tgz", fault.Invalid, "is refused: it is 10.0.0.7"},
		"http://public.example:25/a.tgz":                     {"/npm/a.tgz", fault.Invalid, "a build sends no mail"},
		"http://public.example/gone.tgz?which=x&y":           {"/npm/gone.tgz?which=x&y", fault.NotFound, "it is not there: 404"},
		"https://registry.npmjs.org/a%2f..%2f..%2fx/-/a.tgz": {"/npm/a/../../x/-/a.tgz", fault.Unknown, "no package-lock.json"},
	} {
		x := b.session(npmLock(integrity, at), true)
		code, body := ask(t, x, c.path)
		if (code == http.StatusOK) != (c.says == "") || !strings.Contains(body, c.says) || fault.KindOf(x.Wrong()) != c.kind {
			t.Errorf("%s: %d: %.300q: %v", at, code, body, x.Wrong())
		}
	}
	b.registry.Wrong(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Host == "public.example" {
			http.Redirect(w, r, "http://inside.example"+r.URL.Path, http.StatusFound)
		} else {
			http.Error(w, "who are you?", http.StatusUnauthorized)
		}
		return true
	})
	x := b.session(npmLock(integrity, "http://public.example/npm/a/-/a-1.0.0.tgz"), true)
	if code, body := ask(t, x, "/npm/npm/a/-/a-1.0.0.tgz"); code != http.StatusForbidden || fault.KindOf(x.Wrong()) != fault.Invalid || !strings.Contains(body, `"inside.example:80" is refused`) {
		t.Errorf("sent on to a neighbour: %d, %s, %v", code, body, x.Wrong())
	}
}

// Two files at one path of two hosts cannot be told apart, and none is taken for the other.
func TestTwoHostsWithOnePath(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	one := b.registry.Npm(t, "a", "1.0.0", map[string]string{"package.json": "{}"})
	two := b.registry.Npm(t, "b", "1.0.0", map[string]string{"package.json": "{}", "x": "y"})
	x := b.session(map[string]string{
		"one/package-lock.json": npmLock(one, "https://registry.npmjs.org/a.tgz")["package-lock.json"],
		"two/package-lock.json": npmLock(two, "https://other.example/a.tgz")["package-lock.json"],
	}, false)
	if code, body := ask(t, x, "/npm/a.tgz"); code != http.StatusForbidden || !strings.Contains(body, "one path on two hosts") || fault.KindOf(x.Wrong()) != fault.Invalid {
		t.Errorf("%d: %s", code, body)
	}
}
