package build_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"noxmesh/delivery/build"
	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/manifest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func digest(s string) document.Digest { return document.Sum([]byte(s)) }

func request(t testing.TB) build.Request {
	t.Helper()
	r := build.Request{
		Format: 1, Mesh: "mesh0001", Module: "site", Repository: "https://forge.example/site.git", Commit: strings.Repeat("a", 40),
		Ref: "refs/heads/main", Tree: strings.Repeat("b", 40), Folder: "services/site", Platform: "linux/amd64",
		Closure: []manifest.Input{{Module: "base", Artifact: "go", Digest: digest("base")}, {Module: "lib", Artifact: "go", Digest: digest("lib")}},
		Attempt: 1, Limit: 1800, Registry: "https://mesh.example:7443", Target: "site",
	}
	var err error
	if r.ID, err = r.Identity(); err != nil {
		t.Fatal(err)
	}
	return r
}

func laid(r build.Request) build.Request {
	for _, in := range r.Closure {
		r.Laid = append(r.Laid, build.Laid{
			Module: in.Module, Artifact: in.Artifact, Language: "go", Digest: in.Digest,
			Packed: build.Packed{Index: digest("packed"), IndexSize: 10, Blob: digest("blob"), Size: 20},
		})
	}
	return r
}

// What is laid out is the closure and nothing else, and has no part in the id.
func TestLaidIsTheClosure(t *testing.T) {
	t.Parallel()
	whole := func() build.Request { return laid(request(t)) }
	r := whole()
	if again, err := build.DecodeRequest([]byte(encode(t, r))); err != nil {
		t.Fatal(err)
	} else if d := cmp.Diff(r, again); d != "" {
		t.Error(d)
	}
	for want, wrong := range map[string]func(*build.Request){
		"laid: 1 are laid out of a closure of 2": func(r *build.Request) { r.Laid = r.Laid[:1] },
		"laid[1]: it is not go of lib":           func(r *build.Request) { r.Laid[1].Digest = digest("other") },
		"laid[0]: it is not go of base":          func(r *build.Request) { r.Laid[0].Module = "lib" },
		`laid[0].language: "Go" is not the name`: func(r *build.Request) { r.Laid[0].Language = "Go" },
		"laid[0].packed: it is not that of":      func(r *build.Request) { r.Laid[0].Language = build.InImages },
		"laid[0].packed.size: it is 0": func(r *build.Request) {
			r.Laid[0] = build.LaidImage(r.Laid[0].Module, manifest.Image{Artifact: r.Laid[0].Artifact, Digest: r.Laid[0].Digest})
		},
		"laid[1].packed.size: it is 0":            func(r *build.Request) { r.Laid[1].Packed.Size = 0 },
		`laid[1].packed.blob: "" is not a digest`: func(r *build.Request) { r.Laid[1].Packed.Blob = "" },
	} {
		r := whole()
		wrong(&r)
		text, err := document.Canonical(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := build.DecodeRequest(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A package or an image that an answer names travels as a file does.
func TestPackagesAndImagesTravel(t *testing.T) {
	t.Parallel()
	for size, says := range map[int64]string{7: "", 8: "where says that it has 7 bytes"} {
		for _, what := range []string{"unit", "nowhere", "image unit", "image nowhere"} {
			a := built(t)
			a.Where.Blobs[digest("unit")] = 7
			for i := range a.Manifest.Resources {
				if a.Manifest.Resources[i].Digest == digest("unit") {
					a.Manifest.Resources[i].Size = 7
				}
			}
			if of, is := strings.CutPrefix(what, "image "); is {
				a.Manifest.Built.Images = []manifest.Image{{Artifact: "image", Digest: digest(of), Size: size}}
			} else {
				a.Manifest.Built.Packages = []manifest.Package{{Artifact: "deb", Name: "board", Version: "1.0", Digest: digest(what), Size: size}}
			}
			var err error
			if a.Build, err = a.Manifest.BuildDigest(); err != nil {
				t.Fatal(err)
			}
			if a.Content, err = a.Manifest.ContentDigest(); err != nil {
				t.Fatal(err)
			}
			text, err := document.Canonical(a)
			if err != nil {
				t.Fatal(err)
			}
			want := says
			if strings.HasSuffix(what, "nowhere") {
				want = "where does not say how to get"
			}
			if _, err := build.DecodeAnswer(text); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s of %d bytes: %v", what, size, err)
			}
		}
	}
}

// That a build gives others a library, it says with how to get it.
func TestALibraryTravels(t *testing.T) {
	t.Parallel()
	a := built(t)
	a.Manifest.Built.Libraries = []manifest.Library{{Artifact: "go", Language: "go", Digest: digest("index")}}
	var err error
	if a.Build, err = a.Manifest.BuildDigest(); err != nil {
		t.Fatal(err)
	}
	if _, err := build.DecodeAnswer([]byte(encode(t, a))); err != nil {
		t.Error(err)
	}
	a.Manifest.Built.Libraries[0].Digest = digest("nowhere")
	if a.Build, err = a.Manifest.BuildDigest(); err != nil {
		t.Fatal(err)
	}
	text, err := document.Canonical(a)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := build.DecodeAnswer(text); err == nil || !strings.Contains(err.Error(), "where does not say how to get") {
		t.Errorf("%v", err)
	}
}

func built(t testing.TB) build.Answer {
	t.Helper()
	text := "x"
	m := manifest.Built{
		Format: 1, Module: "site", Resources: []manifest.BuiltResource{
			{ID: "www", Type: "archive", Path: "/srv/www", Digest: digest("index")},
			{ID: "unit", Type: "file", Path: "/etc/unit", Digest: digest("unit"), Size: 4},
			{ID: "note", Type: "file", Path: "/etc/note", Content: &text},
		},
		Built: manifest.Provenance{Commit: strings.Repeat("a", 40), Tree: strings.Repeat("b", 40), Platform: "linux/amd64", Closure: []manifest.Input{}},
	}
	a := build.Answer{
		Format: 1, Mesh: "mesh0001", Request: request(t).ID, Builder: "builder1", Outcome: build.OutcomeBuilt, Manifest: &m,
		Published: digest("oci"), Tests: build.TestsPassed, Log: digest("log"), LogSize: 3, Began: 1000, Ended: 2000,
		Where: &build.Where{
			Blobs:    map[document.Digest]int64{digest("unit"): 4},
			Archives: map[document.Digest]build.Packed{digest("index"): {Index: digest("packed"), IndexSize: 10, Blob: digest("blob"), Size: 20}},
		},
	}
	var err error
	if a.Build, err = m.BuildDigest(); err != nil {
		t.Fatal(err)
	}
	if a.Content, err = m.ContentDigest(); err != nil {
		t.Fatal(err)
	}
	return a
}

func failed(t testing.TB) build.Answer {
	t.Helper()
	return build.Answer{
		Format: 1, Mesh: "mesh0001", Request: request(t).ID, Builder: "builder1", Outcome: build.OutcomeFailed, Step: build.StepBuild,
		Why: "exit status 2", Log: digest("log"), LogSize: 3, Began: 1000, Ended: 2000,
	}
}

func encode(t testing.TB, v interface{ Encode() ([]byte, error) }) string {
	t.Helper()
	b, err := v.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestTheDocumentsOfVersion1DecodeForEver(t *testing.T) {
	t.Parallel()
	environment := failed(t)
	environment.Outcome, environment.Step = build.OutcomeEnvironment, ""
	for name, got := range map[string]string{
		"request.json": encode(t, request(t)), "built.json": encode(t, built(t)), "failed.json": encode(t, failed(t)), "environment.json": encode(t, environment),
	} {
		file := filepath.Join("testdata", "v1", name)
		if *update {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if name == "request.json" {
			_, err = build.DecodeRequest(want)
		} else {
			_, err = build.DecodeAnswer(want)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatIsDecodedIsWhatWasEncoded(t *testing.T) {
	t.Parallel()
	r, err := build.DecodeRequest([]byte(encode(t, request(t))))
	if d := cmp.Diff(request(t), r); err != nil || d != "" {
		t.Error(err, d)
	}
	a, err := build.DecodeAnswer([]byte(encode(t, built(t))))
	if d := cmp.Diff(built(t), a); err != nil || d != "" {
		t.Error(err, d)
	}
}

type refusal struct{ old, new, want string }

func refused(t *testing.T, good string, cases map[string]refusal, decode func([]byte) error) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := strings.Replace(good, c.old, c.new, 1)
			if in == good {
				t.Fatal("nothing was replaced")
			}
			err := decode([]byte(in))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if fault.KindOf(err) != fault.Invalid {
				t.Errorf("kind %s", fault.KindOf(err))
			}
		})
	}
}

func TestEveryRuleOfARequest(t *testing.T) {
	t.Parallel()
	refused(t, encode(t, request(t)), map[string]refusal{
		"newer":         {`"format":1`, `"format":2`, `this builder speaks 1, the build request is format 2; upgrade the builder`},
		"mesh":          {`"mesh0001"`, `"m"`, `at mesh: "m" is not an id`},
		"id":            {`"id":"`, `"id":"0`, `is not the id of what is asked; want ` + request(t).ID},
		"another":       {strings.Repeat("a", 40), strings.Repeat("c", 40), `is not the id of what is asked`},
		"attempt other": {`"attempt":1`, `"attempt":2`, `is not the id of what is asked`},
		"module":        {`"module":"site"`, `"module":"../site"`, `at module: "../site" is not the name of a module`},
		"repository":    {`https://forge.example/site.git`, ``, `at repository: "" is not an address`},
		"repository nl": {`https://forge.example/site.git`, `https://x\n`, `is not an address`},
		"commit":        {strings.Repeat("a", 40), `main`, `at commit: it is "main"; want 40 or 64`},
		"ref":           {`refs/heads/main`, `--upload-pack=x`, `at ref: "--upload-pack=x" is not a ref`},
		"tree":          {strings.Repeat("b", 40), `HEAD`, `at tree: it is "HEAD"`},
		"folder":        {`services/site`, `../site`, `at folder: "../site" is not a folder`},
		"folder root":   {`services/site`, `.`, `at folder: "." is not a folder`},
		"platform":      {`linux/amd64`, `linux`, `at platform: it is "linux"; want OS/ARCH`},
		"closure":       {`"module":"base"`, `"module":"zoo"`, `at closure[1]: it does not come after`},
		"closure null":  {`"closure":[`, `"closure":null,"x":[`, `at closure: there is null; want a list`},
		"attempt":       {`"attempt":1`, `"attempt":0`, `at attempt: it is 0`},
		"limit":         {`"limit":1800`, `"limit":99999999`, `at limit: it is 99999999; want 1 to 604800`},
		"registry":      {`https://mesh.example:7443`, `https://mesh.example/x`, `at registry: "https://mesh.example/x" is not a registry`},
		"target":        {`"target":"site"`, `"target":"../x"`, `at target: it is "../x"; want a repository of the registry`},
	}, func(b []byte) error { _, err := build.DecodeRequest(b); return err })
}

func TestEveryRuleOfAnAnswer(t *testing.T) {
	t.Parallel()
	decode := func(b []byte) error { _, err := build.DecodeAnswer(b); return err }
	good := built(t)
	t.Run("built", func(t *testing.T) {
		t.Parallel()
		refused(t, encode(t, good), map[string]refusal{
			"newer":           {`,"log":`, `,"format":2,"log":`, `this controller speaks 1, the build answer is format 2`},
			"request":         {request(t).ID, `X`, `at request: it is "X"; want 32 lower-case hexadecimal digits`},
			"builder":         {`"builder1"`, `"b"`, `at builder: "b" is not an id`},
			"outcome":         {`"outcome":"built"`, `"outcome":"good"`, `at outcome: "good" is not an outcome; want built, failed or environment`},
			"step":            {`"tests":`, `"step":"build","tests":`, `at step: step does not belong to the outcome built; take it out`},
			"why":             {`"tests":`, `"why":"x","tests":`, `why does not belong to the outcome built`},
			"no tests":        {`,"tests":"passed"`, ``, `at outcome: the outcome built needs tests`},
			"tests":           {`"tests":"passed"`, `"tests":"flaky"`, `at tests: "flaky" is nothing that tests say; want passed, failed or none`},
			"build":           {string(good.Build), string(good.Content), `at build: it is not the digest of the manifest; want ` + string(good.Build)},
			"content":         {string(good.Content), string(good.Build), `at content: it is not the digest of the manifest`},
			"changed":         {`"path":"/etc/unit"`, `"path":"/etc/unix"`, `at content: it is not the digest of the manifest`},
			"manifest":        {`"path":"/etc/unit"`, `"path":"unit"`, `at manifest.resources[1].path: "unit" is not absolute`},
			"manifest format": {`},"format":1,"module"`, `},"format":3,"module"`, `at manifest.format: format 3; want 1`},
			"manifest later":  {`"module":"site"`, `"artifact":"x","module":"site"`, `at manifest.artifact: unknown key "artifact"`},
			"published":       {string(good.Published), `x`, `at published: "x" is not a digest`},
			"no published":    {`"published":"` + string(good.Published) + `",`, ``, `the outcome built needs published`},
			"where blob":      {`"blobs":{"` + string(digest("unit")), `"blobs":{"` + string(digest("other")), `at manifest.resources[1].digest: where does not say how to get`},
			"where size":      {`"` + string(digest("unit")) + `":4`, `"` + string(digest("unit")) + `":5`, `at manifest.resources[1].size: where says that it has 5 bytes`},
			"where key":       {`"blobs":{"sha256`, `"blobs":{"sha255`, `is not a digest`},
			"where archive":   {`"index_size":10`, `"index_size":0`, `.index_size: it is 0; want 1 or more`},
			"log":             {string(good.Log), ``, `at log: "" is not a digest`},
			"log size":        {`"log_size":3`, `"log_size":-3`, `at log_size: it is -3`},
		}, decode)
	})
	t.Run("failed", func(t *testing.T) {
		t.Parallel()
		refused(t, encode(t, failed(t)), map[string]refusal{
			"no step": {`"step":"build",`, ``, `at outcome: the outcome failed needs step`},
			"step":    {`"step":"build"`, `"step":"dance"`, `at step: "dance" is not a step; want clone, build, pack or publish`},
			"no why":  {`,"why":"exit status 2"`, ``, `the outcome failed needs why`},
			"why":     {`exit status 2`, strings.Repeat("x", 16<<10+1), `at why: 16385 bytes; want at most 16384 bytes of UTF-8`},
			"digest":  {`"began"`, `"build":"` + string(digest("x")) + `","began"`, `at build: build does not belong to the outcome failed`},
			"tests":   {`"why"`, `"tests":"failed","why"`, `tests does not belong to the outcome failed`},
			"of none": {`"outcome":"failed"`, `"outcome":"environment"`, `at step: step does not belong to the outcome environment`},
		}, decode)
	})
}

// Asking twice is asking once, and another question is another id: only what is
// asked has a part in it, not how long or where it may be answered.
func TestIdentityIsWhatIsAsked(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base := build.Request{Module: "site", Commit: "c", Tree: "t", Platform: "p", Closure: []manifest.Input{{Module: "a"}}, Attempt: 1}
		r := base
		r.Mesh, r.Repository, r.Ref, r.Folder, r.Registry, r.Target, r.Limit = rapid.String().Draw(t, "mesh"), "r", "f", "d", "g", "h", 9
		same := true
		change := func(name string, f func()) {
			if rapid.Bool().Draw(t, name) {
				same = false
				f()
			}
		}
		change("module", func() { r.Module = "other" })
		change("commit", func() { r.Commit = "d" })
		change("tree", func() { r.Tree = "u" })
		change("platform", func() { r.Platform = "q" })
		change("closure", func() { r.Closure = nil })
		change("bases", func() { r.Bases = []manifest.Base{{Image: "docker.io/library/debian:12", Digest: digest("image")}} })
		change("environment", func() { r.Environment = &build.Environment{Digest: digest("image")} })
		change("attempt", func() { r.Attempt = 2 })
		a, err := base.Identity()
		if err != nil {
			t.Fatal(err)
		}
		b, err := r.Identity()
		if err != nil || (a == b) != same || len(b) != 32 {
			t.Fatalf("%s and %s, %v", a, b, err)
		}
	})
}

func TestANilClosureIsAnEmptyOne(t *testing.T) {
	t.Parallel()
	a, _ := build.Request{}.Identity()
	b, _ := build.Request{Closure: []manifest.Input{}}.Identity()
	if a != b {
		t.Errorf("%s and %s", a, b)
	}
}
