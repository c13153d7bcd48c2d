package lock

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"noxmesh/internal/fault"
	"noxmesh/internal/fault/faulttest"
)

var update = flag.Bool("update", false, "write the golden files anew")

const (
	sum32 = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
	hex32 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	sum64 = "z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="
	hex64 = "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e"
)

// npmLock is a package-lock.json with these packages.
func npmLock(packages string) string {
	return `{"name": "x", "lockfileVersion": 3, "requires": true, "packages": {"": {"name": "x", "dependencies": {"a": "1"}}, ` + packages + `}}`
}

// What each lock file names, in all the ways in which its tool writes it.
func TestWhatLockFilesName(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{}
	for name, text := range map[string]string{
		"go.sum": "golang.org/x/Sync v0.1.0 h1:" + sum32 + "\ngolang.org/x/Sync v0.1.0/go.mod h1:" + sum32 + "\n\n" +
			"gopkg.in/yaml.v3 v3.0.0-20200313102051-9f266ea9e77c+incompatible/go.mod h1:" + sum32 + "\n",
		"web/package-lock.json": npmLock(`"node_modules/@a/b": {"version": "1.0.0-rc.1+x", "resolved": "https://registry.npmjs.org/@a/b/-/b-1.0.0.tgz", "integrity": "sha1-x sha512-` + sum64 + `?o sha256-` + sum32 + `"},
			"node_modules/c/node_modules/d": {"version": "2.0.0", "integrity": "sha256-` + sum32 + `"},
			"node_modules/alias": {"name": "real", "version": "2.0.0", "resolved": "http://other.example/real.tgz?x=1", "integrity": "sha512-` + sum64 + `"},
			"packages/own": {"version": "1.0.0"}, "node_modules/own": {"resolved": "packages/own", "link": true},
			"node_modules/c/node_modules/e": {"version": "1.0.0", "inBundle": true}, "node_modules/f": {"version": "1.0.0", "resolved": "file:f.tgz", "integrity": "sha512-x"}`),
		"requirements.txt":       "# all\n--require-hashes\n-r other.txt\nFlask_Login[x,y] == 1.0 ; python_version > \"3\" \\\n    --hash=sha256:" + hex32 + " \\\n    --hash sha256:" + strings.ToUpper(hex32) + "  # via x\n",
		"requirements/dev.txt":   "pytest==1 --hash=sha256:" + hex32,
		"requirements-plain.txt": "flask>=1\n",
		"tool/Cargo.lock": "# @generated\nversion = 4\n\n[[package]]\nname = \"own\"\nversion = \"0.1.0\"\ndependencies = [\n \"serde\",\n]\n\n[[package]]\nname = \"serde\"\nversion = \"1.0.1+x\"\n" +
			"source = \"registry+https://github.com/rust-lang/crates.io-index\"\nchecksum = \"" + hex32 + "\"\n\n[metadata]\na = \"b\"\n",
		"vendor/go.sum": "x", "node_modules/a/package-lock.json": "x", "a/testdata/Cargo.lock": "[[package]]\nsource = \"x\"\n", "README.txt": "--hash",
	} {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	tree["link/go.sum"] = &fstest.MapFile{Data: []byte("/etc/passwd"), Mode: fs.ModeSymlink | 0o777}
	got, err := Read(tree)
	if err != nil || len(got.Faults) > 0 {
		t.Fatal(err, got.Faults)
	}
	zip1, mod1 := []Hash{{Zip1, hex32}}, []Hash{{Mod1, hex32}}
	want := Locks{
		Go: []Go{
			{"golang.org/x/Sync", "v0.1.0", zip1, mod1, "go.sum"},
			{"gopkg.in/yaml.v3", "v3.0.0-20200313102051-9f266ea9e77c+incompatible", nil, mod1, "go.sum"},
		},
		Npm: []Npm{
			{"@a/b", "1.0.0-rc.1+x", "https://registry.npmjs.org/@a/b/-/b-1.0.0.tgz", []Hash{{SHA512, hex64}}, "web/package-lock.json"},
			{"real", "2.0.0", "http://other.example/real.tgz?x=1", []Hash{{SHA512, hex64}}, "web/package-lock.json"},
			{"d", "2.0.0", "", []Hash{{SHA256, hex32}}, "web/package-lock.json"},
		},
		Python: []Python{
			{"flask-login", []Hash{{SHA256, hex32}, {SHA256, hex32}}, "requirements.txt"},
			{"pytest", []Hash{{SHA256, hex32}}, "requirements/dev.txt"},
		},
		Crates: []Crate{{"serde", "1.0.1+x", Hash{SHA256, hex32}, "tool/Cargo.lock"}},
		Files:  []string{"go.sum", "requirements/dev.txt", "requirements.txt", "tool/Cargo.lock", "web/package-lock.json"},
	}
	slices.Sort(want.Files)
	slices.Sort(got.Files)
	slices.SortFunc(got.Python, func(a, b Python) int { return strings.Compare(a.Project, b.Project) })
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if says := got.Says(); says != "2 Go modules, 3 npm packages, 2 Python projects, 1 crate" {
		t.Error(says)
	}
}

// bad is lock files in which something is wrong, each for one reason.
func bad() map[string][2]string {
	npm := func(entry string) [2]string {
		return [2]string{"package-lock.json", npmLock(`"node_modules/a": ` + entry)}
	}
	at := func(resolved string) [2]string {
		return npm(`{"version": "1.0.0", "resolved": "` + resolved + `", "integrity": "sha512-` + sum64 + `"}`)
	}
	gosum := func(line string) [2]string { return [2]string{"go.sum", "\n" + line + "\n"} }
	python := func(line string) [2]string {
		return [2]string{"requirements.txt", "good==1 --hash=sha256:" + hex32 + "\n" + line + "\n"}
	}
	cargo := func(lines string) [2]string {
		return [2]string{"Cargo.lock", "version = 4\n\n[[package]]\n" + lines + "\n"}
	}
	const crates = "source = \"registry+https://github.com/rust-lang/crates.io-index\"\n"
	return map[string][2]string{
		"go: two words":             gosum("a.example/b v1.0.0"),
		"go: a path that leads up":  gosum("../../b v1.0.0 h1:" + sum32),
		"go: a path from the root":  gosum("/etc/passwd v1.0.0 h1:" + sum32),
		"go: a path with a query":   gosum("a.example/b?c=d v1.0.0 h1:" + sum32),
		"go: a hidden path":         gosum("a.example/.git v1.0.0 h1:" + sum32),
		"go: a long path":           gosum(strings.Repeat("a", 5000) + "\x1b v1.0.0 h1:" + sum32),
		"go: a version that leads":  gosum("a.example/b v1/../../x h1:" + sum32),
		"go: a version with dots":   gosum("a.example/b v1..0 h1:" + sum32),
		"go: another form":          gosum("a.example/b v1.0.0 h2:" + sum32),
		"go: a short hash":          gosum("a.example/b v1.0.0 h1:aaaa"),
		"npm: no JSON":              {"package-lock.json", "x"},
		"npm: another type":         npm(`{"version": 1}`),
		"npm: version 1":            {"package-lock.json", `{"lockfileVersion": 1, "dependencies": {}}`},
		"npm: no integrity":         npm(`{"version": "1.0.0", "resolved": "https://registry.npmjs.org/a/-/a-1.0.0.tgz"}`),
		"npm: only sha1":            npm(`{"version": "1.0.0", "integrity": "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk="}`),
		"npm: another length":       npm(`{"version": "1.0.0", "integrity": "sha512-aaaa"}`),
		"npm: a name that leads up": npm(`{"name": "../../x", "version": "1.0.0", "integrity": "sha512-` + sum64 + `"}`),
		"npm: no version":           npm(`{"integrity": "sha512-` + sum64 + `"}`),
		"npm: from git":             at("git+ssh://git@forge.example/a.git#0123"),
		"npm: from the disk":        at("ftp:///etc/passwd"),
		"npm: a path that leads up": at("https://registry.npmjs.org/../../secret"),
		"npm: a password":           at("https://me:secret@registry.npmjs.org/a.tgz"),
		"npm: no address":           at("https://[::1/a.tgz"),
		"python: no hash":           python("bad==1"),
		"python: another hash":      python("bad==1 --hash=md5:0123"),
		"python: no name":           python("../bad==1 --hash=sha256:" + hex32),
		"python: another index":     python("--extra-index-url=https://index.example/simple"),
		"cargo: from git":           cargo("name = \"a\"\nversion = \"1.0.0\"\nsource = \"git+https://forge.example/a#0123\""),
		"cargo: no checksum":        cargo("name = \"a\"\nversion = \"1.0.0\"\n" + crates),
		"cargo: a name that leads":  cargo("name = \"../a\"\nversion = \"1.0.0\"\n" + crates),
		"cargo: a version":          cargo("name = \"a\"\nversion = \"1/0\"\n" + crates),
	}
}

// Each error text stands in a golden file, with what it is said of; and what is
// wrong is never named.
func TestEveryErrorIsShown(t *testing.T) {
	t.Parallel()
	var said strings.Builder
	show := func(name string, errs ...error) {
		fmt.Fprintf(&said, "%s\n", name)
		for _, err := range errs {
			fmt.Fprintf(&said, "  %s\n", err)
			if hint := fault.HintOf(err); hint != "" {
				fmt.Fprintf(&said, "    hint: %s\n", hint)
			}
			if fault.KindOf(err) != fault.Invalid {
				t.Errorf("%s: kind %s", name, fault.KindOf(err))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(bad())) {
		c := bad()[name]
		l, err := Read(fstest.MapFS{c[0]: &fstest.MapFile{Data: []byte(c[1])}})
		if err != nil || len(l.Go)+len(l.Npm)+len(l.Crates) > 0 || len(l.Python) > 1 || len(l.Faults) != 1 {
			t.Errorf("%s: %v, %+v", name, err, l)
		}
		show(name, l.Faults...)
	}
	zips := badZips(t)
	for _, name := range slices.Sorted(maps.Keys(zips)) {
		_, err := (bounds{10 << 20, 4096}).zipped(bytes.NewReader(zips[name]), int64(len(zips[name])))
		show("zip: "+name, err)
	}
	_, err := Check([]Hash{{Zip1, hex32}}, nil, goZips().bytes+1)
	show("zip: large", err)
	_, err = Check([]Hash{{SHA256, hex32}, {SHA512, hex64}}, strings.NewReader("x"), 1)
	show("another hash", err)
	_, err = Check([]Hash{{SHA384, hex64}, {Mod1, hex32}, {Mod1, hex32}, {Mod1, hex32}, {Mod1, hex32}}, strings.NewReader("x"), 1)
	show("another of many", err)
	large, many := fstest.MapFS{"go.sum": &fstest.MapFile{Data: make([]byte, maxFile+1)}}, fstest.MapFS{}
	for i := range maxFiles + 1 {
		many[fmt.Sprintf("%d/go.sum", i)] = &fstest.MapFile{Data: []byte("a.example/b v1.0.0 h1:" + sum32)}
	}
	for name, tree := range map[string]fs.FS{"large": large, "many": many} {
		l, err := Read(tree)
		if err != nil || len(l.Faults) != 1 || len(l.Go) != len(tree.(fstest.MapFS))-1 { //nolint:forcetypeassert // of the line above
			t.Errorf("%s: %v, %+v", name, err, l.Faults)
		}
	}
	l, err := Read(large)
	show("a large file", append(l.Faults, err)[0])
	l, err = Read(many)
	show("many files", append(l.Faults, err)[0])
	faulttest.Golden(t, *update, said.String(), "read what was fetched", "look for lock files", "nothing that can be fetched", "Go module", "npm package", "Python project")
}

// zipOf is a zip in which each file has as many zeros.
func zipOf(t *testing.T, size int64, names ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range names {
		w, err := z.Create(name)
		if err == nil {
			_, err = io.CopyN(w, zeros{}, size)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func badZips(t *testing.T) map[string][]byte {
	t.Helper()
	broken := zipOf(t, 100, "a@v1/a")
	copy(broken[30+6:], "xxxxxxxx")
	return map[string][]byte{
		"none": []byte("PK"), "twice one name": zipOf(t, 1, "a", "a"), "a line in a name": zipOf(t, 1, "a\nb"), "broken": broken,
		"a bomb": zipOf(t, 6<<20, "a", "b"), "a long list": zipOf(t, 0, strings.Repeat("a", 30000), strings.Repeat("b", 30000)),
	}
}

// The hash of a module is the one that the go command writes: of a list of the
// files, sorted, each with its own.
func TestTheHashOfAModule(t *testing.T) {
	t.Parallel()
	body := zipOf(t, 3, "m@v1/b", "m@v1/a")
	one := sha256.Sum256(make([]byte, 3))
	list := sha256.Sum256(fmt.Appendf(nil, "%x  m@v1/a\n%x  m@v1/b\n", one, one))
	h, ok := HashOf(Zip1, base64.StdEncoding.EncodeToString(list[:]))
	if !ok {
		t.Fatal("no hash")
	}
	if got, err := Check([]Hash{{Zip1, hex32}, h}, bytes.NewReader(body), int64(len(body))); got != h || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	// Of "module example.com/words\n", by the go command.
	mod := "module example.com/words\n"
	inner := sha256.Sum256([]byte(mod))
	outer := sha256.Sum256(fmt.Appendf(nil, "%x  go.mod\n", inner))
	h, _ = HashOf(Mod1, base64.StdEncoding.EncodeToString(outer[:]))
	if got, err := Check([]Hash{h}, strings.NewReader(mod), int64(len(mod))); got != h || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

// A list of files that is longer than any module's is not read to its end.
func TestAZipWithALongListIsRefused(t *testing.T) {
	t.Parallel()
	f := &frugal{ReaderAt: strings.NewReader("0123456789"), left: 4}
	if _, err := f.ReadAt(make([]byte, 4), 0); err != nil {
		t.Error(err)
	}
	if _, err := f.ReadAt(make([]byte, 1), 4); err == nil {
		t.Error("it reads on")
	}
}
