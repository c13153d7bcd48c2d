package build

import (
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"noxmesh/document"
)

func answerForm() document.Form[Answer] {
	return document.Form[Answer]{
		Name: "build answer", Limits: Limits, Speaks: Format, Reader: "this controller", Upgrade: "upgrade the controller", Check: checkAnswer,
	}
}

func checkAnswer(v Answer, r *document.Reading) {
	c := checker{r}
	c.id("mesh", v.Mesh)
	c.match("request", v.Request, requestID, "want 32 lower-case hexadecimal digits")
	c.id("builder", v.Builder)
	c.digest("log", v.Log)
	c.least("log_size", v.LogSize, 0)
	c.least("began", v.Began, 0)
	c.least("ended", v.Ended, 0)
	if len(v.Why) > whyLimit || !utf8.ValidString(v.Why) {
		c.Fault("why", "want at most "+strconv.Itoa(whyLimit)+" bytes of UTF-8", "%d bytes", len(v.Why))
	}
	c.steps(v.Steps)
	c.belong(v)
	switch v.Outcome {
	case OutcomeBuilt:
		c.built(v)
	case OutcomeFailed:
		if v.Step != StepClone && v.Step != StepBuild && v.Step != StepPack && v.Step != StepPublish {
			c.Fault("step", "want clone, build, pack or publish", "%q is not a step", document.Short(string(v.Step)))
		}
	case OutcomeEnvironment:
	default:
		c.Fault("outcome", "want built, failed or environment", "%q is not an outcome", document.Short(string(v.Outcome)))
	}
}

// belong checks that the keys that are there belong to the outcome, and that
// those that it needs are there: the table of what each outcome says.
func (c checker) belong(v Answer) {
	table := map[Outcome][]string{
		OutcomeBuilt:       {"build", "content", "manifest", "published", "where", "tests", "provenance"},
		OutcomeFailed:      {"step", "why"},
		OutcomeEnvironment: {"why"},
	}
	keys, ok := table[v.Outcome]
	if !ok {
		return
	}
	for _, has := range []struct {
		key   string
		there bool
	}{
		{"step", v.Step != ""},
		{"why", v.Why != ""},
		{"build", v.Build != ""},
		{"content", v.Content != ""},
		{"manifest", v.Manifest != nil},
		{"published", v.Published != ""},
		{"where", v.Where != nil},
		{"tests", v.Tests != ""},
		{"provenance", v.Provenance != ""},
	} {
		belongs := slices.Contains(keys, has.key)
		if has.there && !belongs {
			c.FaultKey(has.key, "take it out", "%s does not belong to the outcome %s", has.key, v.Outcome)
		}
		if !has.there && belongs && has.key != "provenance" { // a builder of an earlier version has none
			c.Fault("outcome", "add it", "the outcome %s needs %s", v.Outcome, has.key)
		}
	}
}

// built checks the answer against itself: its digests are those of the manifest
// that it carries, and it says how all bytes travel that the manifest names.
func (c checker) built(v Answer) {
	if v.Tests != "" && v.Tests != TestsPassed && v.Tests != TestsFailed && v.Tests != TestsNone {
		c.Fault("tests", "want passed, failed or none", "%q is nothing that tests say", document.Short(string(v.Tests)))
	}
	if v.Published != "" {
		c.digest("published", v.Published)
	}
	if v.Provenance != "" {
		c.digest("provenance", v.Provenance)
	}
	if v.Where != nil {
		c.where(*v.Where)
	}
	if v.Manifest == nil {
		return
	}
	v.Manifest.Check(c.Reading, "manifest")
	c.same("build", v.Build, v.Manifest.BuildDigest)
	c.same("content", v.Content, v.Manifest.ContentDigest)
	if v.Where == nil {
		return
	}
	c.libraries(v)
	c.published(v)
	for i, x := range v.Manifest.Resources {
		_, blob := v.Where.Blobs[x.Digest]
		_, packed := v.Where.Archives[x.Digest]
		c.travels(document.At("manifest.resources", i), x.Digest, blob || packed)
		if size := v.Where.Blobs[x.Digest]; blob && x.Size != size {
			c.Fault(document.At("manifest.resources", i)+".size", "want "+strconv.FormatInt(size, 10), "where says that it has %d bytes", size)
		}
	}
}

// libraries checks that it is said how what others are built against travels.
func (c checker) libraries(v Answer) {
	for i, l := range v.Manifest.Built.Libraries {
		_, packed := v.Where.Archives[l.Digest]
		c.travels(document.At("manifest.built.libraries", i), l.Digest, packed)
	}
}

// published checks the same of packages and images, which are one blob each.
func (c checker) published(v Answer) {
	for i, p := range v.Manifest.Built.Packages {
		c.blob(v, document.At("manifest.built.packages", i), p.Digest, p.Size)
	}
	for i, x := range v.Manifest.Built.Images {
		c.blob(v, document.At("manifest.built.images", i), x.Digest, x.Size)
	}
}

func (c checker) blob(v Answer, at string, digest document.Digest, is int64) {
	size, there := v.Where.Blobs[digest]
	c.travels(at, digest, there)
	if there && size != is {
		c.Fault(at+".size", "want "+strconv.FormatInt(size, 10), "where says that it has %d bytes", size)
	}
}

// travels checks that it is said how to get what the manifest names at this path.
// What is no digest the check of the manifest has said.
func (c checker) travels(at string, digest document.Digest, said bool) {
	if digest.Valid() && !said {
		c.Fault(at+".digest", "add it to where", "where does not say how to get %s", digest)
	}
}

func (c checker) same(path string, said document.Digest, of func() (document.Digest, error)) {
	got, err := of()
	if err != nil {
		c.Fault("manifest", "", "it has no digest: %s", err)
		return
	}
	if said != "" && said != got {
		c.Fault(path, "want "+string(got), "it is not the digest of the manifest")
	}
}

func (c checker) where(w Where) {
	for _, digest := range slices.Sorted(maps.Keys(w.Blobs)) {
		path := document.Join("where.blobs", string(digest))
		c.key(path, digest)
		c.least(path, w.Blobs[digest], 0)
	}
	for _, digest := range slices.Sorted(maps.Keys(w.Archives)) {
		path, packed := document.Join("where.archives", string(digest)), w.Archives[digest]
		c.key(path, digest)
		c.packed(path, packed)
	}
}

func (c checker) packed(path string, p Packed) {
	c.digest(path+".index", p.Index)
	c.least(path+".index_size", p.IndexSize, 1)
	c.digest(path+".blob", p.Blob)
	c.least(path+".size", p.Size, 1)
}

func (c checker) key(path string, d document.Digest) {
	if !d.Valid() {
		c.FaultKey(path, wantDigest, "%q is not a digest", document.Short(string(d)))
	}
}

func (c checker) least(path string, n, least int64) {
	if n < least {
		c.Fault(path, "want "+strconv.FormatInt(least, 10)+" or more", "it is %d", n)
	}
}
