package rust_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"noxmesh/delivery/imports/rust"
)

const published = `# as cargo writes it
[package]
edition = "2021"
rust-version = "1.56"
name = "words"
version = "1.0.2"
links = "z"

[lib]
name = "words"

[dependencies.serde]
version = "1.0.9"
features = ["derive", "std"]
optional = true
default-features = false

[dependencies.alias]
version = "^2"
package = "real"

[dev-dependencies.trybuild]
version = "1"

[build-dependencies]
cc = "1.0"

[target.'cfg(unix)'.dependencies.libc]
version = "0.2"

[features]
default = ["std"]
std = []
full = ["dep:serde", "alias?/x"]
`

// What an index says of a crate stands in its own Cargo.toml.
func TestWhatAnIndexSaysOfACrate(t *testing.T) {
	t.Parallel()
	got, err := rust.DecodePublished(published)
	if err != nil {
		t.Fatal(err)
	}
	want := rust.Published{
		Name: "words", Version: "1.0.2", Links: "z", Rust: "1.56",
		Needs: []rust.Need{
			{Name: "alias", Package: "real", Version: "^2", Kind: "normal", Defaults: true, Features: []string{}},
			{Name: "serde", Version: "1.0.9", Kind: "normal", Optional: true, Features: []string{"derive", "std"}},
			{Name: "cc", Version: "1.0", Kind: "build", Defaults: true},
			{Name: "trybuild", Version: "1", Kind: "dev", Defaults: true, Features: []string{}},
			{Name: "libc", Version: "0.2", Kind: "normal", Target: "cfg(unix)", Defaults: true, Features: []string{}},
		},
		Features: map[string][]string{"default": {"std"}, "std": {}, "full": {"dep:serde", "alias?/x"}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if _, err := rust.DecodePublished("[package\n"); err == nil {
		t.Error("what is no TOML is taken")
	}
}

// FuzzDecodePublished: whatever a crate has in place of its manifest is read to
// its end, or is none.
func FuzzDecodePublished(f *testing.F) {
	for _, s := range []string{published, "[package]\nname = \"x\"\n", "dependencies = 1\n[features]\na = 1\n", "target = [[]]\n", "[dependencies]\na = [1]\n", "[target]\na = 1\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := rust.DecodePublished(text)
		if err != nil && (p.Name != "" || len(p.Needs) > 0) {
			t.Errorf("half of it is taken: %+v", p)
		}
	})
}
