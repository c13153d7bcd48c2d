package host

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sync/errgroup"

	"noxmesh/archive"
	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/host/keep"
	"noxmesh/host/system"
	"noxmesh/internal/invariant"
	"noxmesh/internal/observe"
)

// sizeLimit is what the program may weigh: it is on every node.
const sizeLimit = 15 << 20

// unversioned is the version of the program that is built for the tests; one as long
// can be put in its place.
const unversioned = "0.0.0+test"

// crashing is mesh-host built so that it can be killed at any effect.
var crashing = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "mesh-host-")
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, "mesh-host")
	cmd := exec.Command("go", "build", "-tags", "meshcrash,power,meshbugs", "-ldflags", "-s -w -X main.version="+unversioned, "-o", out, "noxmesh/cmd/mesh-host")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if b, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, b)
	}
	return out, nil
})

// TestMain lets more tests go side by side than there are cores: those that have a
// machine of their own mostly wait for it.
func TestMain(m *testing.M) {
	flag.Parse()
	told := false
	flag.Visit(func(f *flag.Flag) { told = told || f.Name == "test.parallel" })
	if !told {
		if err := flag.Set("test.parallel", "6"); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	if out, err := crashing(); err == nil {
		_ = os.RemoveAll(filepath.Dir(out))
	}
	os.Exit(code)
}

func program(t testing.TB) string {
	t.Helper()
	out, err := crashing()
	must(t, err)
	return out
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestProgramIsSmall(t *testing.T) {
	t.Parallel()
	info, err := os.Stat(program(t))
	must(t, err)
	if info.Size() >= sizeLimit {
		t.Errorf("mesh-host has %d bytes, want less than %d", info.Size(), sizeLimit)
	}
}

// bundle is a declaration as a person would apply it: a file, and a folder of blobs.
type bundle struct {
	file, blobs string
	things      map[string]string // what it amounts to, as describe says it
}

type packer struct {
	t      testing.TB
	where  declaration.Where
	blobs  string
	things map[string]string
}

func (p *packer) blob(b []byte) document.Digest {
	p.t.Helper()
	d := document.Sum(b)
	must(p.t, os.WriteFile(filepath.Join(p.blobs, "sha256", d.Hex()), b, 0o644))
	return d
}

func (p *packer) file(id, path, content string) declaration.Resource {
	p.t.Helper()
	d := document.Sum([]byte(content))
	p.where.Inline[d] = content
	p.things[path] = content
	return declaration.Resource{ID: "m/" + id, Type: declaration.File, Path: path, Mode: "0640", Digest: d, Size: int64(len(content))}
}

func (p *packer) directory(id, path string) declaration.Resource {
	p.things[path] = "/"
	return declaration.Resource{ID: "m/" + id, Type: declaration.Directory, Path: path, Mode: "0750"}
}

func (p *packer) link(id, path, target string) declaration.Resource {
	p.things[path] = "->" + target
	return declaration.Resource{ID: "m/" + id, Type: declaration.Link, Path: path, Target: target}
}

func (p *packer) archive(id, path string, files map[string]string) declaration.Resource {
	p.t.Helper()
	dir := p.t.TempDir()
	p.things[path] = "/"
	for name, content := range files {
		plant(p.t, filepath.Join(dir, name), content)
		for at := filepath.Join(path, name); at != path; at = filepath.Dir(at) {
			p.things[at] = "/"
		}
		p.things[filepath.Join(path, name)] = content
	}
	root, err := os.OpenRoot(dir)
	must(p.t, err)
	defer root.Close()
	var b bytes.Buffer
	packed, err := archive.Pack(p.t.Context(), root, &b)
	must(p.t, err)
	index, err := archive.CompressIndex(packed.Index)
	must(p.t, err)
	digest, err := packed.Index.Digest()
	must(p.t, err)
	p.where.Archives[digest] = declaration.Packed{
		Repository: "m", Index: p.blob(index), IndexSize: int64(len(index)), Blob: p.blob(b.Bytes()), Size: packed.Size,
	}
	return declaration.Resource{ID: "m/" + id, Type: declaration.Archive, Path: path, Digest: digest}
}

func plant(t testing.TB, full, content string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(full), 0o755))
	if target, link := strings.CutPrefix(content, "->"); link {
		must(t, os.Symlink(target, full))
		return
	}
	must(t, os.WriteFile(full, []byte(content), 0o644))
}

// bundled writes a declaration of what fill adds.
func bundled(t testing.TB, generation int64, fill func(*packer) []declaration.Resource) bundle {
	t.Helper()
	dir := t.TempDir()
	p := &packer{t: t, blobs: dir, things: map[string]string{}, where: declaration.Where{
		Inline: map[document.Digest]string{}, Archives: map[document.Digest]declaration.Packed{},
	}}
	must(t, os.Mkdir(filepath.Join(dir, "sha256"), 0o755))
	d := declaration.Declaration{
		Format: declaration.Format, Mesh: "meshmesh", Node: "nodenode", Name: "n", Epoch: 1, Generation: generation,
		Body: declaration.Body{Modules: []declaration.Module{{Module: "m", Content: document.Sum(nil)}}, Resources: fill(p)},
	}
	d.Where = p.where
	b, err := d.Encode()
	must(t, err)
	file := filepath.Join(dir, "declaration.json")
	must(t, os.WriteFile(file, b, 0o644))
	return bundle{file, dir, p.things}
}

// swapped is an archive that comes all at once.
func (p *packer) swapped(id, path string, files map[string]string) declaration.Resource {
	p.t.Helper()
	r := p.archive(id, path, files)
	r.Traits = &declaration.Traits{Swap: true}
	return r
}

// unmixed is that of what is swapped there is all of the one or all of the other.
func unmixed(t testing.TB, root, point string) {
	t.Helper()
	one, two := describe(filepath.Join(root, "opt/whole/one")), describe(filepath.Join(root, "opt/whole/in/two"))
	if one != two {
		t.Errorf("%s: what is swapped is a mixture of %q and %q", point, one, two)
	}
}

// apply runs the program, with what the crash runner is to do.
func (b bundle) apply(t testing.TB, root string, env ...string) (code int, killed bool, said string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program(t), "apply", b.file, "--blobs", b.blobs, "--root", root)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		status, ok := exit.Sys().(syscall.WaitStatus)
		return exit.ExitCode(), ok && status.Signaled(), string(out)
	}
	must(t, err)
	return 0, false, string(out)
}

// crashBefore and crashAfter are a machine's two declarations: every type is
// made, changed in each way, turned into another, moved, and removed.
func crashBefore(p *packer) []declaration.Resource {
	return []declaration.Resource{
		p.directory("dir", "/etc/app"), p.file("conf", "/etc/app/conf", "one"), p.file("same", "/etc/app/same", "same"),
		p.file("gone", "/srv/deep/gone", "gone"), p.link("link", "/etc/current", "app/conf"), p.file("turns", "/turns", "file"),
		p.archive("site", "/opt/site", map[string]string{"index": "one", "img/a": "a", "img/l": "->a", "old": "old", "turns/in": "in"}),
		p.file("over", "/etc/was", "taken over"), p.file("moves", "/moves/from", "moves"),
		p.swapped("whole", "/opt/whole", map[string]string{"one": "before", "in/two": "before", "same": "same", "gone/x": "x", "turns": "file"}),
	}
}

func crashAfter(p *packer) []declaration.Resource {
	return []declaration.Resource{
		p.directory("dir", "/etc/app"), p.file("conf", "/etc/app/conf", "two"), p.file("same", "/etc/app/same", "same"),
		p.link("link", "/etc/current", "app/same"), p.directory("turns", "/turns"), p.file("inside", "/turns/inside", "in"),
		p.archive("site", "/opt/site", map[string]string{"index": "two", "img/a": "a", "img/l": "->.", "new/n": "new", "turns": "file now"}),
		p.file("moves", "/moves/to", "moves"),
		p.swapped("whole", "/opt/whole", map[string]string{"one": "after", "in/two": "after", "same": "same", "new/l": "->../same", "turns/in": "folder"}),
	}
}

// TestKilledAnywhere kills the program before and after each of its effects, in
// a first apply and in a change, and holds the machine after the next run
// against one on which nothing was ever killed.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	before, after, empty := bundled(t, 1, crashBefore), bundled(t, 2, crashAfter), bundled(t, 3, func(*packer) []declaration.Resource { return nil })
	prepare := func(t testing.TB) string {
		root := memory(t)
		plant(t, filepath.Join(root, "etc/was"), "was here")
		plant(t, filepath.Join(root, "opt/site/foreign"), "foreign")
		return root
	}
	list := func(steps ...bundle) []string {
		root, file := prepare(t), filepath.Join(t.TempDir(), "effects")
		for i, b := range steps {
			env := []string{}
			if i == len(steps)-1 {
				env = append(env, "MESH_EFFECTS="+file)
				drift(t, root, steps)
			}
			if code, _, said := b.apply(t, root, env...); code != 0 {
				t.Fatalf("exit %d: %s", code, said)
			}
		}
		b, err := os.ReadFile(file)
		must(t, err)
		return strings.Fields(string(b))
	}
	type kill struct {
		first, then bundle // then is what is applied when it is killed, and again after
		point       string
	}
	var kills []kill
	for _, e := range list(before) {
		kills = append(kills, kill{bundle{}, before, e + ":before"}, kill{bundle{}, before, e + ":after"})
	}
	for _, e := range list(before, after) {
		kills = append(kills, kill{before, after, e + ":before"}, kill{before, after, e + ":after"})
	}
	for _, e := range list(before, before) {
		kills = append(kills, kill{before, before, e + ":before"}, kill{before, before, e + ":after"})
	}
	t.Logf("%d kills, %d of a swap", len(kills), len(slices.DeleteFunc(slices.Clone(kills), func(k kill) bool { return !strings.Contains(k.point, ".swap.") })))
	for _, name := range []string{
		"keep.plan.save", "keep.changing.save", "keep.changing.drop", "resource.swap.make", "resource.swap.lay", "resource.swap.link",
		"resource.swap.fill", "resource.swap.open", "resource.swap.commit", "resource.swap.clear",
	} {
		if !slices.ContainsFunc(kills, func(k kill) bool { return strings.HasPrefix(k.point, name+"#") }) {
			t.Errorf("%q is never reached: the sweep of the line does not come to that", name)
		}
	}
	if len(kills) < 150 {
		t.Fatalf("only %d kills: the effects are not all there", len(kills))
	}
	var group errgroup.Group
	group.SetLimit(3)
	for i, k := range kills {
		group.Go(func() error {
			root := prepare(t)
			defer os.RemoveAll(root)
			if k.first.file != "" {
				k.first.apply(t, root)
				drift(t, root, []bundle{k.first, k.then})
			}
			if _, killed, said := k.then.apply(t, root, "MESH_CRASH="+k.point); !killed {
				t.Errorf("%s: it was not killed: %s", k.point, said)
			}
			claims(t, root, k.point)
			// Half of the time the next thing that it hears is another declaration.
			next := []bundle{k.then, empty}
			if i%2 == 1 {
				next = next[1:]
			}
			for _, b := range next {
				code, _, said := b.apply(t, root)
				if code != 0 {
					t.Errorf("%s: exit %d: %s", k.point, code, said)
				}
				holds(t, root, k.point, b)
			}
			return nil
		})
	}
	_ = group.Wait()
}

// drift changes by hand what is applied twice in a row: one file is other than
// declared, and one link is gone.
func drift(t testing.TB, root string, steps []bundle) {
	t.Helper()
	if n := len(steps); n > 1 && steps[n-1].file == steps[n-2].file {
		plant(t, filepath.Join(root, "etc/app/conf"), byHand["/etc/app/conf"])
		must(t, os.Remove(filepath.Join(root, "etc/current")))
	}
}

// byHand is what drift has left.
var byHand = map[string]string{"/etc/app/conf": "by hand", "/etc/current": ""}

// touched reports whether somebody else has left a thing as it is now.
func touched(root, path string) bool {
	left, ok := byHand[path]
	return ok && describe(filepath.Join(root, path)) == left
}

// claims is that the record of a killed host says done of nothing that is not so.
func claims(t testing.TB, root, point string) {
	t.Helper()
	unmixed(t, root, point)
	n, err := observe.Node(root)
	must(t, err)
	for i, thing := range n.Things {
		n.Things[i].Touched = touched(root, thing.Path)
	}
	for _, f := range invariant.Always(invariant.Seen{Nodes: []invariant.Node{n}}) {
		t.Errorf("%s: %s", point, f)
	}
}

// holds is that everything declared is there, that nothing of anybody else was
// touched, and that nothing else is left.
func holds(t testing.TB, root, point string, b bundle) {
	t.Helper()
	for p, want := range b.things {
		if got := describe(filepath.Join(root, p)); got != want {
			t.Errorf("%s: %s is %q, want %q", point, p, got, want)
		}
	}
	may := map[string]bool{"/etc/was": true, "/opt/site/foreign": true, "/var/lib": true, "/": true, "": true}
	for p := range b.things {
		may[p] = true
	}
	for p := range may {
		for ; p != "/" && p != ""; p = filepath.Dir(p) {
			may[p] = true
		}
	}
	must(t, filepath.WalkDir(root, func(full string, _ fs.DirEntry, err error) error {
		p := strings.TrimPrefix(full, root)
		if p == keep.Path {
			return filepath.SkipDir
		}
		if !may[p] {
			t.Errorf("%s: %s is left: %q", point, p, describe(full))
		}
		return err
	}))
	if got := describe(filepath.Join(root, "opt/site/foreign")); got != "foreign" {
		t.Errorf("%s: a foreign file is %q", point, got)
	}
	if got := describe(filepath.Join(root, "etc/was")); got != "was here" && got != "taken over" {
		t.Errorf("%s: what was there before is %q", point, got)
	}
}

func describe(full string) string {
	info, err := os.Lstat(full)
	switch {
	case err != nil:
		return ""
	case info.IsDir():
		return "/"
	case info.Mode()&fs.ModeSymlink != 0:
		target, _ := os.Readlink(full)
		return "->" + target
	}
	b, _ := os.ReadFile(full)
	return string(b)
}

// memory is a folder that needs no disk: a killed process is no power cut.
func memory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "mesh-host-") //nolint:usetesting // in memory
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// TestFullDisk fails every effect for lack of room, and holds that nothing is
// said to be applied that is not, and that the next run mends it.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	before, after := bundled(t, 1, crashBefore), bundled(t, 2, crashAfter)
	root, file := memory(t), filepath.Join(t.TempDir(), "effects")
	before.apply(t, root)
	after.apply(t, root, "MESH_EFFECTS="+file)
	b, err := os.ReadFile(file)
	must(t, err)
	var group errgroup.Group
	group.SetLimit(3)
	for _, e := range strings.Fields(string(b)) {
		group.Go(func() error {
			root := memory(t)
			defer os.RemoveAll(root)
			before.apply(t, root)
			code, killed, said := after.apply(t, root, "MESH_FAIL="+e+":ENOSPC")
			if killed {
				t.Errorf("%s: it died: %s", e, said)
			}
			if code == 0 {
				for p, want := range after.things {
					if got := describe(filepath.Join(root, p)); got != want {
						t.Errorf("%s: applied, and %s is %q, want %q", e, p, got, want)
					}
				}
			}
			if code, _, said := after.apply(t, root); code != 0 {
				t.Errorf("%s: exit %d: %s", e, code, said)
			}
			for p, want := range after.things {
				if got := describe(filepath.Join(root, p)); got != want {
					t.Errorf("%s: %s is %q, want %q", e, p, got, want)
				}
			}
			return nil
		})
	}
	_ = group.Wait()
}

// TestSyncsAreConstant counts what makes a first apply durable: the same number
// for ten files as for a thousand.
func TestSyncsAreConstant(t *testing.T) {
	t.Parallel()
	count := func(n int) (syncs int) {
		b := bundled(t, 1, func(p *packer) (all []declaration.Resource) {
			for i := range n {
				all = append(all, p.file(fmt.Sprint("f", i), fmt.Sprintf("/d%d/f%d", i%20, i), fmt.Sprint(i)))
			}
			return all
		})
		file := filepath.Join(t.TempDir(), "effects")
		if code, _, said := b.apply(t, memory(t), "MESH_EFFECTS="+file); code != 0 {
			t.Fatalf("exit %d: %s", code, said)
		}
		text, err := os.ReadFile(file)
		must(t, err)
		for _, e := range strings.Fields(string(text)) {
			name, _, _ := strings.Cut(e, "#")
			// One sync of a file or a file system each; nothing else of the program syncs.
			if slices.Contains([]string{"disk.file.stage", "disk.file.seal", "resource.wave.sync", "resource.wave.seal", "resource.removal.seal"}, name) {
				syncs++
			}
		}
		return syncs
	}
	ten, thousand := count(10), count(1000)
	if ten != thousand || ten == 0 {
		t.Errorf("%d syncs for ten files, %d for a thousand", ten, thousand)
	}
	if most := 16; thousand > most {
		t.Errorf("%d syncs, want at most %d", thousand, most)
	}
}

// TestSyncsStandBetweenTheSteps: bytes are on the disk before they get their
// names, names before they are read back and recorded.
func TestSyncsStandBetweenTheSteps(t *testing.T) {
	t.Parallel()
	b := bundled(t, 1, func(p *packer) []declaration.Resource {
		return []declaration.Resource{p.file("a", "/a", "a"), p.link("b", "/b", "a"), p.archive("c", "/c", map[string]string{"x": "x"})}
	})
	file := filepath.Join(t.TempDir(), "effects")
	if code, _, said := b.apply(t, memory(t), "MESH_EFFECTS="+file); code != 0 {
		t.Fatalf("exit %d: %s", code, said)
	}
	text, err := os.ReadFile(file)
	must(t, err)
	var steps []string
	for _, e := range strings.Fields(string(text)) {
		name, _, _ := strings.Cut(e, "#")
		step := map[string]string{
			"disk.file.seal": "record", "resource.file.stage": "stage", "resource.link.stage": "stage", "resource.wave.sync": "sync",
			"resource.staged.commit": "commit", "resource.wave.seal": "seal",
		}[name]
		if step != "" && (len(steps) == 0 || steps[len(steps)-1] != step) {
			steps = append(steps, step)
		}
	}
	if got, want := strings.Join(steps, " "), "record stage sync commit seal record"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestASecondProcessIsRefused(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	sys, err := system.Open(root)
	must(t, err)
	defer sys.Close()
	folder, err := keep.Open(sys)
	must(t, err)
	defer folder.Close()
	code, _, said := bundled(t, 1, crashBefore).apply(t, root)
	if want := fmt.Sprintf("pid %d", os.Getpid()); code != 1 || !strings.Contains(said, want) {
		t.Errorf("exit %d, want 1 and %q: %s", code, want, said)
	}
}
