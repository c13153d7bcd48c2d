package supply_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"noxmesh/builder/supply/supplytest"
	"noxmesh/internal/fault"
)

// cargoLock is a Cargo.lock with these crates, NAME VERSION CHECKSUM each.
func cargoLock(crates ...string) string {
	var b strings.Builder
	b.WriteString("version = 3\n\n[[package]]\nname = \"app\"\nversion = \"0.1.0\"\ndependencies = [\n \"words\",\n]\n")
	for _, c := range crates {
		words := strings.Fields(c)
		b.WriteString("\n[[package]]\nname = \"" + words[0] + "\"\nversion = \"" + words[1] + "\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\nchecksum = \"" + words[2] + "\"\n")
		if len(words) > 3 {
			b.WriteString("dependencies = [\n \"" + words[3] + "\",\n]\n")
		}
	}
	return b.String()
}

// crates has two crates, and gives a tree that needs them.
func crates(t *testing.T, r *supplytest.Registry) map[string]string {
	t.Helper()
	inner := r.Crate(t, "inner-part", "0.3.1", map[string]string{
		"Cargo.toml": "[package]\nname = \"inner-part\"\nversion = \"0.3.1\"\nedition = \"2021\"\n\n[features]\nloud = []\n",
		"src/lib.rs": "#[cfg(feature = \"loud\")]\npub const SAYS: &str = \"hello from outside\";\n",
	})
	outer := r.Crate(t, "words", "1.2.0", map[string]string{
		"Cargo.toml": "[package]\nname = \"words\"\nversion = \"1.2.0\"\nedition = \"2021\"\n\n[dependencies.inner]\nversion = \"0.3\"\npackage = \"inner-part\"\noptional = true\n\n[features]\nfull = [\"dep:inner\", \"inner?/loud\"]\n",
		"src/lib.rs": "pub use inner::SAYS;\n",
	})
	return map[string]string{
		"Cargo.toml":  "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[dependencies]\nwords = { version = \"1\", features = [\"full\"] }\n",
		"src/main.rs": "fn main() { println!(\"{}\", words::SAYS); }\n",
		"Cargo.lock":  cargoLock("inner-part 0.3.1 "+inner, "words 1.2.0 "+outer+" inner-part"),
	}
}

// The real cargo builds with what is served to it, features and all.
func TestCargoBuildsWithWhatItsLockNames(t *testing.T) {
	t.Parallel()
	if out, err := exec.CommandContext(t.Context(), "cargo", "--version").CombinedOutput(); err != nil {
		t.Skipf("cargo is not on this machine: %v %s", err, out)
	}
	b := newBench(t)
	files := crates(t, b.registry)
	var serve http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve.ServeHTTP(w, r) }))
	defer server.Close()
	b.at = server.URL
	x := b.session(files, false)
	serve = x
	dir, home := t.TempDir(), t.TempDir()
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	for at, text := range x.Files() {
		write(t, filepath.Join(home, strings.TrimPrefix(at, "/.cargo/")), text)
	}
	cmd := exec.CommandContext(t.Context(), "cargo", "run", "--locked", "--quiet")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CARGO_HOME="+home, "CARGO_TARGET_DIR="+filepath.Join(dir, "target"), "RUSTUP_HOME="+rustup(t), "http_proxy=", "https_proxy=")
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "hello from outside\n" {
		t.Errorf("%v: %s\n%s", err, out, x.Lacking())
	}
	want := "/crates/inner-part/0.3.1/download /crates/words/1.2.0/download"
	if asked := b.registry.Asked(); strings.Join(asked, " ") != want || x.Wrong() != nil {
		t.Errorf("asked for %v, %v", asked, x.Wrong())
	}
}

// rustup is where the toolchains are, whatever home cargo is given.
func rustup(t *testing.T) string {
	t.Helper()
	if at := os.Getenv("RUSTUP_HOME"); at != "" {
		return at
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(home, ".rustup")
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// What an index says of a crate is what the crate says, and no other is there.
func TestWhatARegistryOfCratesSays(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x := b.session(crates(t, b.registry), false)
	for path, want := range map[string]string{
		"/cargo/config.json":      `{"dl":"http://127.0.0.1:3128/cargo/dl"}`,
		"/cargo/wo/rd/words":      `"deps":[{"name":"inner","req":"0.3","features":[],"optional":true,"default_features":true,"target":null,"kind":"normal","package":"inner-part"}]`,
		"/cargo/in/ne/inner-part": `"features2":{"loud":[]},"yanked":false,"links":null,"rust_version":null,"v":2}`,
	} {
		if code, body := ask(t, x, path); code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d: %s", path, code, body)
		}
	}
	for path, says := range map[string]string{"/cargo/se/rd/serde": "the crate serde is in no Cargo.lock", "/cargo/dl/words/9.9.9/download": "the crate words/9.9.9 is in no", "/cargo/x": "the crate x "} {
		if code, body := ask(t, x, path); code != http.StatusNotFound || !strings.Contains(body, says) {
			t.Errorf("%s: %d: %s", path, code, body)
		}
	}
	if len(b.registry.Asked()) != 2 || x.Wrong() != nil {
		t.Error(x.Wrong())
	}
	var none map[string]string
	if got := b.session(map[string]string{"go.sum": "x"}, false).Files(); len(got) != len(none) {
		t.Errorf("%v", got)
	}
}

// A crate that is proven and no crate is the module's failure all the same.
func TestWhatIsNoCrate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		says  string
	}{
		"no manifest":      {map[string]string{"src/lib.rs": ""}, `there is no "words-1.0.0/Cargo.toml" in it`},
		"no TOML":          {map[string]string{"Cargo.toml": "[package\n"}, "its Cargo.toml"},
		"another crate":    {map[string]string{"Cargo.toml": "[package]\nname = \"other\"\nversion = \"1.0.0\"\n"}, "by its Cargo.toml it is other 1.0.0"},
		"no archive":       {nil, "it is no crate"},
		"a longer archive": {map[string]string{"a": strings.Repeat("x", 100), "Cargo.toml": ""}, "by its Cargo.toml it is  "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			sum := b.registry.Crate(t, "words", "1.0.0", c.files)
			if c.files == nil {
				b.registry.Put("/crates/words/1.0.0/download", nil)
				sum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
				b.registry.Wrong(answers(http.StatusOK, ""))
			}
			x := b.session(map[string]string{"Cargo.lock": cargoLock("words 1.0.0 " + sum)}, false)
			code, body := ask(t, x, "/cargo/wo/rd/words")
			if code != http.StatusForbidden || fault.KindOf(x.Wrong()) != fault.Invalid || !strings.Contains(body, c.says) {
				t.Errorf("%d: %s", code, body)
			}
		})
	}
}
