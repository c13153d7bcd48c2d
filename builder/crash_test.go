//go:build meshcrash

package builder

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"noxmesh/archive"
	"noxmesh/delivery/build"
	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci"
	"noxmesh/internal/oci/imagetest"
	"noxmesh/manifest"
)

const crashVariable = "MESH_TEST_CRASH_BUILDER"

// overHTTP is the link of a builder in a process of its own.
type overHTTP struct{ url string }

func (l overHTTP) Request(ctx context.Context, subject string, data []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url+"/"+subject, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "ask")
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fault.New(fault.Unavailable, "%s", body)
	}
	return body, err
}

type mortal struct {
	Config Config
	Link   string
}

// Kill the builder before and after each of its effects, and let each effect
// meet a full disk: run again, it answers, and what it answers is there whole.
func TestABuilderIsKilledAnywhere(t *testing.T) {
	t.Parallel()
	if text := os.Getenv(crashVariable); text != "" {
		live(t, text)
		return
	}
	needsSandbox(t)
	points := passed(t)
	for _, want := range []string{
		"builder.images.pull#1", "builder.images.unpack#1", "builder.images.clear#1",
		"builder.shelf.open#2", "builder.shelf.begin#2", "builder.shelf.keep#2", "builder.shelf.drop#2", // of images and of libraries
		"builder.layer.write#1", "builder.stage.begin#2", "builder.stage.fill#1", "builder.image.keep#1", "builder.base.pull#1", "builder.image.push#1",
		"builder.library.gather#1", "builder.input.fetch#1", "builder.laid.make#1", "builder.laid.settle#1", "builder.wiring.write#1",
		"archive.directory.make#1", "archive.file.write#1", "archive.link.make#1",
		"builder.workshop.make#1", "builder.command.run#1", "builder.archive.pack#1", "builder.package.write#1", "builder.blob.push#1",
		"builder.provenance.push#1", "builder.manifest.push#1", "disk.file.stage#1", "disk.file.commit#1", "disk.file.seal#1", "builder.answer.send#1", "builder.answer.drop#1",
	} {
		name, number, _ := strings.Cut(want, "#")
		some := 0
		for _, point := range points {
			if strings.HasPrefix(point, name+"@") {
				some++
			}
		}
		if many, _ := strconv.Atoi(number); some < many {
			t.Errorf("the sweep comes to %s %d times, want %s", name, some, number)
		}
	}
	var kills, failures []end
	for _, point := range points {
		kills = append(kills, plainly("MESH_CRASH="+point+":before"), plainly("MESH_CRASH="+point+":after"))
		failures = append(failures, plainly("MESH_FAIL="+point+":ENOSPC"))
	}
	tellAll(t, nil, kills)
	tellAll(t, nil, failures)
}

// end is what a builder meets: its name, and what its environment says of it.
type end struct {
	name string
	env  func(s *story) []string
}

func plainly(how string) end {
	return end{how, func(*story) []string { return []string{how} }}
}

// tellAll meets each of the ends, some to a story. A story goes on as long as nobody
// has built what was asked for; what it does not come to any more is met in a new
// one, from its beginning.
func tellAll(t *testing.T, disk func() powered, ends []end) {
	t.Helper()
	for some := range slices.Chunk(ends, 8) {
		t.Run(some[0].name, func(t *testing.T) {
			t.Parallel()
			var s *story
			for _, e := range some {
				if s != nil && !s.built() && s.meets(e) {
					continue
				}
				if s != nil {
					s.ends()
				}
				if s = begins(t, disk); !s.meets(e) {
					t.Errorf("%s: a builder does not come to it", e.name)
				}
			}
			s.ends()
		})
	}
}

// passed is every effect of a builder that nothing happens to, by the way that leads to
// it: where it comes the same way more than once, the first time and the last.
func passed(t *testing.T) (points []string) {
	t.Helper()
	ways := filepath.Join(t.TempDir(), "ways")
	s := begins(t, nil)
	s.meets(plainly("MESH_WAYS=" + ways))
	s.ends()
	list, err := os.ReadFile(ways)
	must(t, err)
	last := map[string]int{} // by way: where it stands
	for line := range strings.Lines(string(list)) {
		point, _, _ := strings.Cut(line, " ")
		way, number, _ := strings.Cut(point, "#")
		if at, there := last[way]; there && number != "2" {
			points[at] = point
			continue
		}
		last[way] = len(points)
		points = append(points, point)
	}
	return points
}

// powered is where the power is cut when the builder is killed; nil where it is not.
type powered interface {
	mount(t *testing.T, dir string)
	back(t *testing.T)
}

// story is one request, and a builder that is ended while it is at it.
type story struct {
	*rig
	t       *testing.T
	disk    powered
	request build.Request
	url     string
	effects string // where the builder says what it has come to
	first   document.Digest
}

func begins(t *testing.T, disk func() powered) *story {
	t.Helper()
	repo, rig := newRepository(t), newRig(t)
	s := &story{rig: rig, t: t, effects: filepath.Join(t.TempDir(), "effects")}
	if disk != nil {
		s.disk = disk()
		s.disk.mount(t, rig.config.State)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err == nil {
			data, err = rig.controller.Request(r.Context(), strings.TrimPrefix(r.URL.Path, "/"), data)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write(data)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	lib := rig.publishes("lib", map[string]string{"go.mod": "module example.com/lib\n", "lib/lib.go": "package lib\n", "lib/also.go": "-> lib.go"})
	images := imagetest.Serve(t)
	in := build.Environment{Image: images.Host + "/base", Digest: images.Push("base", "1", insideImage(t, "one"))[0]}
	for _, beside := range []string{imagesBeside, librariesBeside} {
		old := filepath.Join(rig.config.State, "workshop"+beside, "whole", "old") // of which there is too much
		must(t, os.MkdirAll(old, 0o711))
		must(t, os.WriteFile(filepath.Join(old, "about.json"), []byte(`{"size": 1099511627776, "entries": 1}`), 0o600))
	}
	manifestIn := strings.Replace(siteManifest, `"artifacts": {`, `"in": "`+in.Image+`:1", "artifacts": {"sdk": {"type": "library", "language": "go"},
		"deb": {"type": "package", "path": "dist", "version": "1.0"}, "image": {"type": "image", "path": "dist", "base": "`+in.Image+`:1"}, "file": {"type": "image", "file": "Containerfile"}, `, 1)
	q := repo.request(repo.commit(site(map[string]string{
		"module.json": manifestIn, "go.mod": "module example.com/site\n", "site.go": "package site\n",
		"build.sh": "read x <page.html\necho $x >dist/index.html\n", "test.sh": "read x <dist/index.html; [ $x = hello ]\n",
		"Containerfile": "FROM " + in.Image + ":1 AS one\nRUN echo made >/made\nFROM one\nCOPY dist /srv/\n",
		"dist/run":      "#!/bin/sh\n", "dist/home": "-> index.html",
	})), "")
	q.Environment = &in
	q.Closure, q.Laid = []manifest.Input{{Module: lib.Module, Artifact: lib.Artifact, Digest: lib.Digest}}, []build.Laid{lib}
	q = identified(t, q)
	s.request = q
	rig.ask(q)
	return s
}

// built reports whether somebody has built what was asked for.
func (s *story) built() bool {
	return s.controller.answers[s.request.ID].Outcome == build.OutcomeBuilt
}

// meets runs a builder that something happens to, and reports whether it came to
// that. What is not answered then is asked for again.
func (s *story) meets(e end) bool {
	s.t.Helper()
	must(s.t, os.RemoveAll(s.effects))
	env := e.env(s)
	how := env[0]
	killed := run(s.t, s.config, s.url, append(env, "MESH_EFFECTS="+s.effects)...)
	if s.disk != nil {
		s.disk.back(s.t)
	}
	passed, err := os.ReadFile(s.effects)
	must(s.t, err)
	came := strings.Contains(string(passed), "fail "+strings.TrimPrefix(how, "MESH_FAIL=")+"\n")
	if point, crash := strings.CutPrefix(how, "MESH_CRASH="); crash {
		came = strings.Contains(string(passed), "crash "+point+"\n")
		if came != killed {
			s.t.Errorf("%s: it was killed is %t, and it came there is %t", how, killed, came)
		}
	}
	if s.built() {
		s.same()
		return came
	}
	if a, answered := s.controller.answers[s.request.ID]; answered && a.Outcome != build.OutcomeEnvironment {
		s.t.Errorf("%s: a full disk became %s at %s: %s", how, a.Outcome, a.Step, a.Why)
	}
	if !s.isKept(s.t, how, came) {
		s.ask(s.request) // the lease ran out
	}
	return came
}

// same is that one request has one digest, however often it is built.
func (s *story) same() {
	s.t.Helper()
	a := s.controller.answers[s.request.ID]
	if s.first != "" && s.first != a.Build {
		s.t.Errorf("two answers differ: %s and %s", s.first, a.Build)
	}
	s.first = a.Build
}

// ends lets a builder that nothing happens to come to the end, and looks at what is there.
func (s *story) ends() {
	t, rig, q := s.t, s.rig, s.request
	t.Helper()
	run(t, rig.config, s.url)
	a := rig.controller.answers[q.ID]
	if a.Outcome != build.OutcomeBuilt || a.Tests != build.TestsPassed {
		t.Fatalf("%s at %s: %s", a.Outcome, a.Step, a.Why)
	}
	checkPublished(t, rig.registry, a)
	checkProvenance(t, rig, q, a)
	s.same()
	var left []string
	for _, dir := range []string{rig.config.State, filepath.Join(rig.config.State, "answers")} {
		all, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range all {
			left = append(left, e.Name())
		}
	}
	if want := []string{"answers", countFile, "git", ownFile, joinedFile, "lock", "workshop" + imagesBeside, "workshop" + librariesBeside}; !slices.Equal(left, want) {
		t.Errorf("the state has %v, want %v", left, want)
	}
}

// isKept reports whether a builder that was killed there has its answer on the
// disk, as it must when it has come to sending it: the answer comes from there
// then, and not from another build.
func (r *rig) isKept(t *testing.T, how string, came bool) bool {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(r.config.State, "answers", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	point, crash := strings.CutPrefix(how, "MESH_CRASH=builder.answer.")
	if came && crash && (strings.HasPrefix(point, "send@") || strings.HasPrefix(point, "drop@") && strings.HasSuffix(point, "#1:before")) && len(all) != 1 {
		t.Errorf("it was about to send an answer, and has kept %q", all)
	}
	return crash && len(all) == 1
}

// run runs a builder in a process of its own and reports whether it was killed.
func run(t *testing.T, c Config, url string, env ...string) bool {
	t.Helper()
	c.Log = nil
	text, err := json.Marshal(mortal{c, url})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run", "^TestABuilderIsKilledAnywhere$", "-test.count=1")
	cmd.Env = append(append(os.Environ(), crashVariable+"="+string(text)), env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true
	}
	if err != nil && (len(env) == 0 || !strings.HasPrefix(env[0], "MESH_FAIL=")) {
		t.Fatalf("%v\n%s", err, out)
	}
	return false
}

// live is the builder: a few turns, as far as it gets.
func live(t *testing.T, text string) {
	var m mortal
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	m.Config.Log = testLog(t)
	b, closeAll, err := open(t.Context(), m.Config)
	if err != nil {
		t.Fatal(err)
	}
	b.caller.link = overHTTP{m.Link}
	for range 3 {
		if _, err := b.turn(t.Context()); err != nil {
			t.Log(err)
		}
	}
	if err := closeAll(); err != nil {
		t.Log(err)
	}
}

// publishes puts a library into the registry as a build does.
func (r *rig) publishes(module string, files map[string]string) build.Laid {
	r.t.Helper()
	repo := newRepository(r.t)
	repo.commit(files)
	must(r.t, os.RemoveAll(filepath.Join(repo.dir, ".git")))
	dir, err := os.OpenRoot(repo.dir)
	must(r.t, err)
	defer dir.Close()
	var body bytes.Buffer
	packed, err := archive.Pack(r.t.Context(), dir, &body)
	must(r.t, err)
	index, err := archive.CompressIndex(packed.Index)
	must(r.t, err)
	id, err := packed.Index.Digest()
	must(r.t, err)
	client, err := oci.New(oci.Config{Base: r.registry.server.URL, User: testBuilder, Secret: testSecret, RequestID: strings.Repeat("0", 32)})
	must(r.t, err)
	defer client.Close()
	for _, data := range [][]byte{index, body.Bytes()} {
		must(r.t, client.PushBlob(r.t.Context(), oci.Blob{Repository: module, Digest: document.Sum(data), Size: int64(len(data))}, bytes.NewReader(data)))
	}
	return build.Laid{Module: module, Artifact: "sdk", Language: "go", Digest: id, Packed: build.Packed{
		Index: document.Sum(index), IndexSize: int64(len(index)), Blob: packed.Blob, Size: packed.Size,
	}}
}
