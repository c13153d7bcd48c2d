package builder

import (
	"strings"
	"testing"

	"noxmesh/delivery/build"
	"noxmesh/document"
	"noxmesh/internal/oci"
)

const siteManifest = `{
  "module": "site",
  "resources": [
    {"id": "site", "type": "archive", "artifact": "site", "path": "/srv/site"},
    {"id": "motd", "type": "file", "path": "/etc/motd.site", "from": "motd"}
  ],
  "build": {
    "run": [["sh", "build.sh"]],
    "test": [["sh", "test.sh"]],
    "artifacts": {"site": {"type": "archive", "path": "dist"}}
  }
}`

func site(change map[string]string) map[string]string {
	files := map[string]string{
		"module.json": siteManifest,
		"motd":        "welcome\n",
		"build.sh":    "mkdir dist\ncp page.html dist/index.html\nprintf '#!/bin/sh\\n' >dist/run\nchmod +x dist/run\nln -s index.html dist/home\necho made it\n",
		"test.sh":     "grep -q hello dist/index.html\n",
		"page.html":   "hello\n",
	}
	for name, text := range change {
		files[name] = text
	}
	return files
}

func TestABuildIsMadePublishedAndAnswered(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	repo, rig := newRepository(t), newRig(t)
	q := repo.request(repo.commit(site(nil)), "")
	a := rig.build(q)
	if a.Outcome != build.OutcomeBuilt || a.Tests != build.TestsPassed {
		t.Fatalf("%s %s %s, tests %s\n%s", a.Outcome, a.Step, a.Why, a.Tests, rig.controller.logOf(q))
	}
	log := rig.controller.logOf(q)
	if document.Sum([]byte(log)) != a.Log || int64(len(log)) != a.LogSize {
		t.Errorf("the log that came is not the one that the answer names:\n%s", log)
	}
	for _, want := range []string{"== clone: " + q.Repository, "$ sh build.sh\nmade it\n", "== pack\n", "$ sh test.sh\n", "== publish took "} {
		if !strings.Contains(log, want) {
			t.Errorf("the log has no %q:\n%s", want, log)
		}
	}
	var steps []string
	for _, s := range a.Steps {
		steps = append(steps, s.Step)
	}
	if got := strings.Join(steps, " "); got != "clone build pack test publish" {
		t.Errorf("the answer has the times of %q", got)
	}
	checkPublished(t, rig.registry, a)
	checkProvenance(t, rig, q, a)
	id, err := a.Manifest.BuildDigest()
	if err != nil || id != a.Build {
		t.Errorf("the build is %s, the manifest %s, %v", a.Build, id, err)
	}
	if p := a.Manifest.Built; p.Commit != q.Commit || p.Tree != q.Tree || p.Platform != q.Platform {
		t.Errorf("made of %+v", p)
	}
}

// checkPublished holds the answer against the registry: whatever it names is there.
func checkPublished(t *testing.T, r *testRegistry, a build.Answer) {
	t.Helper()
	m, err := r.client.PullManifest(t.Context(), "site", a.Published)
	if err != nil {
		t.Fatal(err)
	}
	if m.Config.MediaType != oci.MediaBuilt || m.Config.Digest != a.Build {
		t.Errorf("the manifest's config is %+v, and the build %s", m.Config, a.Build)
	}
	there := map[document.Digest]int64{m.Config.Digest: m.Config.Size}
	for _, l := range m.Layers {
		there[l.Digest] = l.Size
	}
	for d, size := range there {
		if ok, err := r.client.HasBlob(t.Context(), "site", d, size); err != nil || !ok {
			t.Errorf("blob %s: %v, %v", d, ok, err)
		}
	}
	for d, size := range a.Where.Blobs {
		if there[d] != size {
			t.Errorf("file %s of %d bytes is not in the manifest", d, size)
		}
	}
	for d, p := range a.Where.Archives {
		if there[p.Index] != p.IndexSize || there[p.Blob] != p.Size {
			t.Errorf("archive %s is not in the manifest", d)
		}
	}
	for _, r := range a.Manifest.Resources {
		_, file := a.Where.Blobs[r.Digest]
		_, archived := a.Where.Archives[r.Digest]
		if r.Digest != "" && !file && !archived {
			t.Errorf("resource %q names %s, and nothing says where that is", r.ID, r.Digest)
		}
	}
}

const lfsPointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"

// How a build may end, by what the module does.
func TestHowABuildEnds(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	manifestWith := func(old, new string) map[string]string {
		return site(map[string]string{"module.json": strings.Replace(siteManifest, old, new, 1)})
	}
	for name, c := range map[string]struct {
		files   map[string]string
		change  func(*build.Request)
		outcome build.Outcome
		step    build.Step
		tests   build.Tests
		why     string
	}{
		"tests fail": {
			files: site(map[string]string{"page.html": "bye\n"}), outcome: build.OutcomeBuilt, tests: build.TestsFailed,
		},
		"no tests": {
			files: manifestWith(`"test": [["sh", "test.sh"]],`, ""), outcome: build.OutcomeBuilt, tests: build.TestsNone,
		},
		"a command fails": {
			files:   site(map[string]string{"build.sh": "echo one\necho the reason >&2\nexit 3\n"}),
			outcome: build.OutcomeFailed, step: build.StepBuild, why: "\"sh build.sh\" ended with status 3\none\nthe reason",
		},
		"a command is not there": {
			files: manifestWith(`["sh", "build.sh"]`, `["no-such-tool", "x"]`), outcome: build.OutcomeFailed, step: build.StepBuild, why: `"no-such-tool" is not on this builder`,
		},
		"the artifact is not there": {
			files: site(map[string]string{"build.sh": ":\n"}), outcome: build.OutcomeFailed, step: build.StepPack, why: `artifact "site": there is no folder "dist" after the build`,
		},
		"the artifact is a link out": {
			files: site(map[string]string{"build.sh": "ln -s /etc dist\n"}), outcome: build.OutcomeFailed, step: build.StepPack, why: `artifact "site"`,
		},
		"a link in the artifact leads out": {
			files:   site(map[string]string{"build.sh": "mkdir dist\nln -s ../../../etc/shadow dist/x\n"}),
			outcome: build.OutcomeFailed, step: build.StepPack, why: `"x"`,
		},
		"a pipe in the artifact": {
			files:   site(map[string]string{"build.sh": "mkdir dist\nmkfifo dist/x\n"}),
			outcome: build.OutcomeFailed, step: build.StepPack, why: `"x"`,
		},
		"the artifact is a file": {
			files: site(map[string]string{"build.sh": "echo >dist\n"}), outcome: build.OutcomeFailed, step: build.StepPack, why: `"dist"`,
		},
		"from is a link": {
			files: site(map[string]string{"motd": "-> /etc/passwd"}), outcome: build.OutcomeFailed, step: build.StepClone, why: `"motd" is no regular file`,
		},
		"a name that is not UTF-8 in the artifact": {
			files:   site(map[string]string{"build.sh": "mkdir dist\necho >\"$(printf 'dist/caf\\351')\"\n"}),
			outcome: build.OutcomeFailed, step: build.StepPack, why: `"caf\xe9"`,
		},
		"a name that is not UTF-8 in the tree": {
			files: site(map[string]string{"caf\xe9": "x"}), outcome: build.OutcomeBuilt, tests: build.TestsPassed,
		},
		"from is a pointer of Git LFS": {
			files:   site(map[string]string{"motd": lfsPointer}),
			outcome: build.OutcomeFailed, step: build.StepClone, why: `"motd" is a pointer of Git LFS`,
		},
		"a pointer of Git LFS in the artifact": {
			files:   site(map[string]string{"logo.png": lfsPointer, "build.sh": "mkdir -p dist/img\ncp logo.png dist/img/logo.png\n"}),
			outcome: build.OutcomeFailed, step: build.StepPack, why: `"img/logo.png" is a pointer of Git LFS`,
		},
		"a pointer of Git LFS that is not delivered": {
			files: site(map[string]string{"logo.png": lfsPointer}), outcome: build.OutcomeBuilt, tests: build.TestsPassed,
		},
		"a file about Git LFS": {
			files: site(map[string]string{"motd": lfsPointer + strings.Repeat("is what a pointer looks like\n", 40)}), outcome: build.OutcomeBuilt, tests: build.TestsPassed,
		},
		"from is not there": {
			files: manifestWith(`"from": "motd"`, `"from": "other"`), outcome: build.OutcomeFailed, step: build.StepClone, why: `"other"`,
		},
		"the manifest is a link": {
			files: map[string]string{"module.json": "-> other.json", "other.json": siteManifest}, outcome: build.OutcomeFailed, step: build.StepClone, why: `"module.json" is no regular file`,
		},
		"the manifest is wrong": {
			files: manifestWith(`"resources"`, `"resource"`), outcome: build.OutcomeFailed, step: build.StepClone, why: "module.json",
		},
		"another module": {
			files: manifestWith(`"module": "site"`, `"module": "other"`), outcome: build.OutcomeFailed, step: build.StepClone, why: `"other"`,
		},
		"another tree": {
			files: site(nil), change: func(q *build.Request) { q.Tree = strings.Repeat("ab", 20) },
			outcome: build.OutcomeFailed, step: build.StepClone, why: "the request names " + strings.Repeat("ab", 20),
		},
		"a commit that is not there": {
			files: site(nil), change: func(q *build.Request) { q.Commit = strings.Repeat("ab", 20) },
			outcome: build.OutcomeFailed, step: build.StepClone, why: "commit",
		},
		"another platform": {
			files: site(nil), change: func(q *build.Request) { q.Platform = "plan9/mips" }, outcome: build.OutcomeEnvironment, why: "plan9/mips",
		},
		"git cannot be reached": {
			files: site(nil), change: func(q *build.Request) { q.Repository = "http://127.0.0.1:1/module" }, outcome: build.OutcomeEnvironment, why: "127.0.0.1",
		},
		"the time limit": {
			files: site(map[string]string{"build.sh": "echo begun\nsleep 600\n"}), change: func(q *build.Request) { q.Limit = 2 },
			outcome: build.OutcomeFailed, step: build.StepBuild, why: "time limit",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo, rig := newRepository(t), newRig(t)
			q := repo.request(repo.commit(c.files), "")
			if c.change != nil {
				c.change(&q)
				q = identified(t, q)
			}
			a := rig.build(q)
			log := rig.controller.logOf(q)
			if a.Outcome != c.outcome || a.Step != c.step || a.Tests != c.tests || !strings.Contains(a.Why, c.why) {
				t.Errorf("%q at %q, tests %q, why %q\nwant %q at %q, tests %q, why %q\n%s", a.Outcome, a.Step, a.Tests, a.Why, c.outcome, c.step, c.tests, c.why, log)
			}
			if a.Outcome != build.OutcomeBuilt && (rig.registry.written() > 0 || a.Manifest != nil) {
				t.Error("something of it was published")
			}
			if document.Sum([]byte(log)) != a.Log {
				t.Errorf("the log that came is not the one that the answer names:\n%s", log)
			}
		})
	}
}
