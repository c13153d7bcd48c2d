package builder

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"noxmesh/builder/supply"
	"noxmesh/builder/supply/supplytest"
	"noxmesh/delivery/build"
	"noxmesh/internal/oci/imagetest"
)

// outsider is a module whose build runs a script that takes something from outside.
func outsider(script string, files map[string]string) map[string]string {
	all := map[string]string{
		"module.json": `{"module": "site", "build": {"run": [["bash", "-e", "build.sh"]], "artifacts": {"site": {"type": "archive", "path": "dist"}}},
			"resources": [{"id": "site", "type": "archive", "path": "/opt/site", "artifact": "site"}]}`,
		"build.sh": "mkdir dist\n" + script + "\n",
	}
	for name, text := range files {
		all[name] = text
	}
	return all
}

// upstreams is a registry for all ecosystems.
func upstreams(r *supplytest.Registry) supply.Upstreams {
	return supply.Upstreams{Go: r.URL + "/go", Npm: r.URL + "/npm", Python: r.URL + "/simple", Cargo: r.URL + "/crates"}
}

// Where a tool is not on this machine, there is nothing to test it with.
func needsTool(t *testing.T, name string) {
	t.Helper()
	for _, dir := range []string{"/usr/bin/", "/usr/local/bin/", "/usr/local/go/bin/"} {
		if _, err := exec.LookPath(dir + name); err == nil {
			return
		}
	}
	t.Skipf("%s is not among the programs that a sandbox sees", name)
}

// a Go program that needs two modules, one for a test alone.
func goProgram(t *testing.T, r *supplytest.Registry) map[string]string {
	t.Helper()
	r.Go(t, "example.com/words", "v1.2.0", map[string]string{"go.mod": "module example.com/words\n\ngo 1.23\n", "words.go": "package words\n\nconst Hello = \"hello from outside\"\n"})
	r.Go(t, "example.com/more/v2", "v2.0.1-rc.1", map[string]string{"go.mod": "module example.com/more/v2\n\ngo 1.23\n", "more.go": "package more\n"})
	files := map[string]string{
		"go.mod":       "module example.com/site\n\ngo 1.23\n\nrequire (\n\texample.com/more/v2 v2.0.1-rc.1\n\texample.com/words v1.2.0\n)\n",
		"main.go":      "package main\n\nimport (\n\t\"fmt\"\n\n\t\"example.com/words\"\n)\n\nfunc main() { fmt.Println(words.Hello) }\n",
		"main_test.go": "package main\n\nimport _ \"example.com/more/v2\"\n",
	}
	files["go.mod"], files["go.sum"] = r.Tidy(t, files)
	return files
}

// What the go command does up to the compiler, which would take half a minute.
const goBuild = "go list -deps -test ./... >/dev/null\ncat \"$(go list -f '{{.Dir}}' example.com/words)/words.go\" >dist/says"

// A Go program is built from what its go.sum names: fetched once, proven, and kept
// for the next build, which needs nobody; a build that checks another one uses
// none of it.
func TestAGoProgramIsBuiltFromWhatItsSumsName(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	needsTool(t, "go")
	repo, rig, outside := newRepository(t), newRig(t), supplytest.Serve(t)
	files := goProgram(t, outside)
	outside.Asked()
	rig.config.Dependencies = upstreams(outside)
	q := repo.request(repo.commit(outsider(goBuild, files)), "")
	a := rig.build(q)
	log := rig.controller.logOf(q)
	if a.Outcome != build.OutcomeBuilt || a.Manifest.Built.Network {
		t.Fatalf("%s: %s\n%s", a.Outcome, a.Why, log)
	}
	if got := rig.content(a, "says"); !strings.Contains(got, "hello from outside") {
		t.Errorf("it says %q", got)
	}
	want := "/go/example.com/more/v2/@v/v2.0.1-rc.1.mod /go/example.com/more/v2/@v/v2.0.1-rc.1.zip /go/example.com/words/@v/v1.2.0.mod /go/example.com/words/@v/v1.2.0.zip"
	if got := strings.Join(outside.Asked(), " "); got != want {
		t.Errorf("asked for %s\nwant %s", got, want)
	}
	for _, says := range []string{"dependencies: 2 Go modules, by http://127.0.0.1:3128\n", "dependencies: fetched 4,"} {
		if !strings.Contains(log, says) {
			t.Errorf("the log does not say %q:\n%s", says, log)
		}
	}
	outside.Wrong(func(w http.ResponseWriter, _ *http.Request) bool {
		http.Error(w, "it is down", http.StatusInternalServerError)
		return true
	})
	q = repo.request(repo.commit(map[string]string{"more.txt": "x"}), "")
	b := rig.build(q)
	if b.Outcome != build.OutcomeBuilt || b.Content != a.Content || len(outside.Asked()) > 0 {
		t.Errorf("again: %s: %s\n%s", b.Outcome, b.Why, rig.controller.logOf(q))
	}
	outside.Wrong(nil)
	q.Check = q.ID
	q = identified(t, q)
	if c := rig.build(q); c.Outcome != build.OutcomeBuilt || c.Content != a.Content || len(outside.Asked()) != 4 {
		t.Errorf("a check uses what was kept: %s: %s\n%s", c.Outcome, c.Why, rig.controller.logOf(q))
	}
}

// What a build asks for and no lock file names is its own failure, in words; what
// is named and is not what the lock says too, whatever the commands make of that;
// and a registry that is down is nobody's.
func TestWhatCannotBeHadFromOutside(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	needsTool(t, "go")
	outside := supplytest.Serve(t)
	files := goProgram(t, outside)
	answer := func(code int, body string) func(w http.ResponseWriter, _ *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			http.Error(w, body, code)
			return true
		}
	}
	for name, c := range map[string]struct {
		script  string
		wrong   func(w http.ResponseWriter, r *http.Request) bool
		off     bool
		outcome build.Outcome
		says    string
	}{
		"not named":       {"go mod download example.com/other@v1.0.0", nil, false, build.OutcomeFailed, "(it asked for what no lock file names:\nthe Go module example.com/other v1.0.0 is in no go.sum of the tree (go mod tidy"},
		"not named, once": {"go mod download example.com/other@v1.0.0 || echo x >dist/x", nil, false, build.OutcomeBuilt, ""},
		"another content": {"go mod download example.com/words || echo x >dist/x", answer(200, "module evil"), false, build.OutcomeFailed, `the dependency example.com/words v1.2.0, which "go.sum" names: it has the hash`},
		"down":            {"go mod download example.com/words || echo x >dist/x", answer(500, "it is down"), false, build.OutcomeEnvironment, "it answered 500: it is down"},
		"switched off":    {"go mod download example.com/words", nil, true, build.OutcomeFailed, "status 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo, rig := newRepository(t), newRig(t)
			here := outside
			if c.wrong != nil {
				here = supplytest.Serve(t)
				here.Wrong(c.wrong)
			}
			if !c.off {
				rig.config.Dependencies = upstreams(here)
			}
			q := repo.request(repo.commit(outsider(c.script, files)), "")
			a := rig.build(q)
			log := rig.controller.logOf(q)
			if a.Outcome != c.outcome || !strings.Contains(a.Why, c.says) {
				t.Errorf("%s: %s\n%s", a.Outcome, a.Why, log)
			}
			if c.off != strings.Contains(log, "dependencies: the lock files name 2 Go modules, and this builder fetches none: its operator lets it with --dependencies") {
				t.Errorf("the log says %s", log)
			}
		})
	}
}

// A site of Node is built from what its package-lock.json names: from the
// registry, with and without its address, and from another host.
func TestANodeSiteIsBuiltFromWhatItsLockNames(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	needsTool(t, "npm")
	repo, rig, outside := newRepository(t), newRig(t), supplytest.Serve(t)
	rig.withInternet("the page")
	rig.config.Network = false
	rig.config.Dependencies = upstreams(outside)
	rig.config.outside.Dial = func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
		d := net.Dialer{}
		return d.DialContext(ctx, "tcp", strings.TrimPrefix(outside.URL, "http://"))
	}
	pack := func(name string) string {
		return outside.Npm(t, name, "1.0.0", map[string]string{"package.json": `{"name": "` + name + `", "version": "1.0.0", "main": "index.js"}`, "index.js": "module.exports = '" + name + "'\n"})
	}
	left, right, far := pack("left"), pack("@team/right"), pack("far")
	packageLock := func(optional string) string {
		return `{"name": "site", "version": "1.0.0", "lockfileVersion": 3, "requires": true, "packages": {
		"": {"name": "site", "version": "1.0.0", "dependencies": {"left": "^1.0.0", "@team/right": "^1.0.0", "far": "http://site.example/npm/far/-/far-1.0.0.tgz"}, "optionalDependencies": {"more": "^1.0.0"}},
		"node_modules/left": {"version": "1.0.0", "resolved": "https://registry.npmjs.org/left/-/left-1.0.0.tgz", "integrity": "` + left + `"},
		"node_modules/@team/right": {"version": "1.0.0", "integrity": "` + right + `"},
		"node_modules/more": {"version": "1.0.0", "optional": true, "resolved": "https://registry.npmjs.org/more/-/more-1.0.0.tgz", "integrity": "` + optional + `"},
		"node_modules/far": {"version": "1.0.0", "resolved": "http://site.example/npm/far/-/far-1.0.0.tgz", "integrity": "` + far + `"}}}`
	}
	files := map[string]string{
		"package.json": `{"name": "site", "version": "1.0.0", "dependencies": {"left": "^1.0.0", "@team/right": "^1.0.0", "far": "http://site.example/npm/far/-/far-1.0.0.tgz"}, "optionalDependencies": {"more": "^1.0.0"}}`,
		"main.js":      "console.log(require('left'), require('@team/right'), require('far'))\n", "package-lock.json": packageLock(pack("more")),
	}
	q := repo.request(repo.commit(outsider("npm ci\nnode main.js >dist/says", files)), "")
	a := rig.build(q)
	log := rig.controller.logOf(q)
	if a.Outcome != build.OutcomeBuilt {
		t.Fatalf("%s: %s\n%s", a.Outcome, a.Why, log)
	}
	if got := rig.content(a, "says"); got != "left @team/right far\n" {
		t.Errorf("it says %q", got)
	}
	if want := "/npm/@team/right/-/right-1.0.0.tgz /npm/far/-/far-1.0.0.tgz /npm/left/-/left-1.0.0.tgz /npm/more/-/more-1.0.0.tgz"; strings.Join(outside.Asked(), " ") != want || !strings.Contains(log, "dependencies: fetched 4,") {
		t.Errorf("the log says %s", log)
	}
	// npm goes on without an optional package: the build does not. No other
	// package has the hash that it is to have: what is kept by its hash is not asked for.
	q = repo.request(repo.commit(map[string]string{"package-lock.json": packageLock(pack("less"))}), "")
	outside.Put("/npm/more/-/more-1.0.0.tgz", []byte("evil"))
	other := newRig(t) // nothing is kept there
	other.config.Dependencies, other.config.outside = rig.config.Dependencies, rig.config.outside
	rig = other
	if a := rig.build(q); a.Outcome != build.OutcomeFailed || !strings.Contains(a.Why, `the dependency more 1.0.0, which "package-lock.json" names: it has the hash sha512-`) {
		t.Errorf("%s: %s\n%s", a.Outcome, a.Why, rig.controller.logOf(q))
	}
	q = repo.request(repo.commit(map[string]string{"package-lock.json": `{"lockfileVersion": 3, "packages": {"node_modules/left": {"version": "1.0.0", "integrity": "sha1-x"}}}`, "build.sh": "npm ci\n"}), "")
	if a := rig.build(q); a.Outcome != build.OutcomeFailed || !strings.Contains(a.Why, "the npm package @team/right is in no package-lock.json") || !strings.Contains(a.Why, `the integrity "sha1-x" proves nothing`) {
		t.Errorf("%s: %s\n%s", a.Outcome, a.Why, rig.controller.logOf(q))
	}
}

// A Python program is built from what its requirements name by their hashes.
func TestAPythonProgramIsBuiltFromWhatItsRequirementsName(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	needsTool(t, "pip3")
	repo, rig, outside := newRepository(t), newRig(t), supplytest.Serve(t)
	rig.config.Dependencies = upstreams(outside)
	files := map[string]string{
		"requirements.txt": "words==1.2 \\\n    --hash=sha256:" + strings.Repeat("0", 64) + " \\\n    --hash=" + outside.Python(t, "words", "1.2", "hello from outside") + "\n",
		"main.py":          "import sys\nsys.path.insert(0, 'lib')\nimport words\nprint(words.SAYS)\n",
	}
	script := "pip3 install --no-cache-dir --require-hashes --target lib -r requirements.txt\npython3 main.py >dist/says"
	q := repo.request(repo.commit(outsider(script, files)), "")
	a := rig.build(q)
	log := rig.controller.logOf(q)
	if a.Outcome != build.OutcomeBuilt || !strings.Contains(log, "the index does not have 1 of the 2 files of words") {
		t.Fatalf("%s: %s\n%s", a.Outcome, a.Why, log)
	}
	if got := rig.content(a, "says"); got != "hello from outside\n" {
		t.Errorf("it says %q", got)
	}
	if want := "/files/words-1.2-py3-none-any.whl /simple/words/"; strings.Join(outside.Asked(), " ") != want {
		t.Errorf("the log says %s", log)
	}
	q = repo.request(repo.commit(map[string]string{"build.sh": "pip3 install --no-cache-dir --target lib more\n"}), "")
	if a := rig.build(q); a.Outcome != build.OutcomeFailed || !strings.Contains(a.Why, "the Python project more is in no requirements file of the tree") || len(outside.Asked()) > 0 {
		t.Errorf("%s: %s\n%s", a.Outcome, a.Why, rig.controller.logOf(q))
	}
}

// A Rust program finds a registry in place of crates.io, in the builder's own
// root and in an image, and nobody writes into what says so.
func TestCargoFindsWhatItsLockNames(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	repo, rig, outside := newRepository(t), newRig(t), supplytest.Serve(t)
	rig.config.Dependencies = upstreams(outside)
	sum := outside.Crate(t, "words", "1.0.0", map[string]string{"Cargo.toml": "[package]\nname = \"words\"\nversion = \"1.0.0\"\n"})
	lock := "version = 4\n\n[[package]]\nname = \"words\"\nversion = \"1.0.0\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\nchecksum = \"" + sum + "\"\n"
	script := ask + `grep -q 'registry = "sparse+http://127.0.0.1:3128/cargo/"' /.cargo/config.toml
! { echo x >>/.cargo/config.toml; } 2>/dev/null
! rm -f /.cargo/config.toml 2>/dev/null
! touch /.cargo/x 2>/dev/null
ask "GET /cargo/wo/rd/words HTTP/1.1
Host: x" >said
grep -q '"cksum":"` + sum + `"' said
ask "GET /cargo/dl/words/1.0.0/download HTTP/1.1
Host: x" >dist/crate`
	q := repo.request(repo.commit(outsider(script, map[string]string{"Cargo.lock": lock})), "")
	a := rig.build(q)
	if log := rig.controller.logOf(q); a.Outcome != build.OutcomeBuilt || !strings.Contains(log, "dependencies: fetched 1,") {
		t.Errorf("%s: %s\n%s", a.Outcome, a.Why, log)
	}
	images := imagetest.Serve(t)
	in := build.Environment{Image: images.Host + "/base", Digest: images.Push("base", "1", insideImage(t, "one"))[0]}
	manifest := strings.Replace(outsider("", nil)["module.json"], `"run": [["bash", "-e", "build.sh"]]`, `"in": "`+in.Image+`:1", "run": [["sh", "-e", "build.sh"]]`, 1)
	q = repo.request(repo.commit(map[string]string{"module.json": manifest, "dist/x": "x", "build.sh": "read x </.cargo/config.toml\n[ \"$x\" = \"[source.crates-io]\" ]\n"}), "")
	q.Environment = &in
	q = identified(t, q)
	if a := rig.build(q); a.Outcome != build.OutcomeBuilt {
		t.Errorf("in an image: %s: %s\n%s", a.Outcome, a.Why, rig.controller.logOf(q))
	}
}

// A registry that gives slowly uses up a build's time, and that is no failure of
// the module.
func TestASlowRegistryIsNoVerdict(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	needsTool(t, "go")
	repo, rig, outside := newRepository(t), newRig(t), supplytest.Serve(t)
	files := goProgram(t, outside)
	outside.Wrong(func(w http.ResponseWriter, r *http.Request) bool {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return true
	})
	rig.config.Dependencies = upstreams(outside)
	q := repo.request(repo.commit(outsider(goBuild, files)), "")
	q.Limit = 4
	q = identified(t, q)
	if a := rig.build(q); a.Outcome != build.OutcomeEnvironment || !strings.Contains(a.Why, "time limit") || !strings.Contains(a.Why, "something was fetched from outside") {
		t.Errorf("%s: %s\n%s", a.Outcome, a.Why, rig.controller.logOf(q))
	}
}
