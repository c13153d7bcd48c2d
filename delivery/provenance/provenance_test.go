package provenance_test

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"noxmesh/delivery/build"
	"noxmesh/delivery/provenance"
	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/manifest"
)

var update = flag.Bool("update", false, "write the golden files")

func sum(s string) document.Digest { return document.Sum([]byte(s)) }

// made is a build of a library in a folder, built against another module in an image.
func made() provenance.Made {
	r := build.Request{
		Format: 1, Mesh: "mesh0001", ID: strings.Repeat("1d", 16), Module: "site", Repository: "https://forge.example/site.git",
		Commit: strings.Repeat("a", 40), Ref: "refs/heads/main", Tree: strings.Repeat("b", 40), Folder: "services/site", Platform: "linux/amd64",
		Closure:     []manifest.Input{{Module: "base", Artifact: "lib", Digest: sum("base")}, {Module: "zoo", Artifact: "lib", Digest: sum("zoo")}},
		Environment: &build.Environment{Image: "docker.io/library/golang", Digest: sum("image")},
		Attempt:     2, Limit: 1800, Registry: "https://mesh.example:7443", Target: "site",
	}
	m := manifest.Built{Format: 1, Module: "site", Built: manifest.Provenance{
		Commit: r.Commit, Tree: r.Tree, Platform: r.Platform, Closure: r.Closure, Environment: r.In(), Network: true,
	}}
	return provenance.Made{
		Request: r, Builder: "builder1", Manifest: m, Published: sum("published"),
		Blobs: []provenance.Blob{{"site.index.zst", sum("index")}, {"site.tar.zst", sum("archive")}},
		Began: time.UnixMilli(1_764_486_000_123), Finished: time.UnixMilli(1_764_486_060_456),
	}
}

func of(t testing.TB, m provenance.Made) provenance.Statement {
	t.Helper()
	s, err := provenance.Of(m)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func encode(t testing.TB, s provenance.Statement) []byte {
	t.Helper()
	b, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestTheStatementOfVersion1IsReadForEver(t *testing.T) {
	t.Parallel()
	file := filepath.Join("testdata", "v1", "statement.json")
	got := encode(t, of(t, made()))
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Error(d)
	}
	s, err := provenance.Decode(want)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(of(t, made()), s); d != "" {
		t.Error(d)
	}
	ended := made()
	ended.Finished = ended.Finished.Add(time.Second) // the log is closed after it was published
	if err := provenance.Verify(s, ended); err != nil {
		t.Error(err)
	}
}

// leaves calls f with each value in v that can be altered, and where it stands.
func leaves(v reflect.Value, path string, f func(path string, v reflect.Value)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			leaves(v.Field(i), document.Join(path, name), f)
		}
	case reflect.Slice:
		for i := range v.Len() {
			leaves(v.Index(i), document.At(path, i), f)
		}
	default:
		f(path, v)
	}
}

// Each single field that says something else is refused, and the error names it:
// whoever adds a field to the statement and not to what is verified fails here.
func TestEachFieldThatIsNotSoIsNamed(t *testing.T) {
	t.Parallel()
	count := 0
	s := of(t, made())
	leaves(reflect.ValueOf(&s).Elem(), "", func(path string, v reflect.Value) {
		count++
		was := reflect.New(v.Type()).Elem()
		was.Set(v)
		switch v.Kind() {
		case reflect.String:
			v.SetString(v.String() + "x")
		case reflect.Int64:
			v.SetInt(v.Int() + 1)
		case reflect.Bool:
			v.SetBool(!v.Bool())
		case reflect.Map:
			v.Set(reflect.ValueOf(map[string]string{"sha256": sum("another").Hex()}))
		default:
			t.Fatalf("%s is a %s", path, v.Kind())
		}
		wants := path
		if strings.HasSuffix(path, "On") {
			wants = "predicate.runDetails.metadata"
		}
		err := provenance.Verify(s, made())
		if fault.KindOf(err) != fault.Denied || !strings.Contains(err.Error(), wants) {
			t.Errorf("%s: %v", path, err)
		}
		v.Set(was)
	})
	if count < 30 {
		t.Errorf("only %d fields", count)
	}
	if err := provenance.Verify(s, made()); err != nil {
		t.Errorf("put back: %v", err)
	}
}

// What is asked, published and answered is what the statement must say: where one
// of these is another, it does not stand.
func TestAStatementAboutSomethingElse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		want string
		do   func(*provenance.Made)
	}{
		"builder":    {"builder.id", func(m *provenance.Made) { m.Builder = "builder2" }},
		"request":    {"invocationId", func(m *provenance.Made) { m.Request.ID = "2" }},
		"commit":     {"externalParameters.commit", func(m *provenance.Made) { m.Request.Commit = strings.Repeat("c", 40) }},
		"repository": {"externalParameters.repository", func(m *provenance.Made) { m.Request.Repository += "x" }},
		"module":     {"externalParameters.module", func(m *provenance.Made) { m.Request.Module = "board" }},
		"folder":     {"externalParameters.folder", func(m *provenance.Made) { m.Request.Folder = "" }},
		"platform":   {"externalParameters.platform", func(m *provenance.Made) { m.Request.Platform = "linux/arm64" }},
		"ref":        {"externalParameters.ref", func(m *provenance.Made) { m.Request.Ref = "" }},
		"tree":       {"internalParameters.tree", func(m *provenance.Made) { m.Request.Tree = strings.Repeat("c", 40) }},
		"input": {"resolvedDependencies[1].digest", func(m *provenance.Made) {
			m.Request.Closure = []manifest.Input{{Module: "base", Artifact: "lib", Digest: sum("other")}}
		}},
		"fewer inputs": {"resolvedDependencies[2].name", func(m *provenance.Made) { m.Request.Closure = m.Request.Closure[:1] }},
		"environment":  {"resolvedDependencies[3]", func(m *provenance.Made) { m.Request.Environment = nil }},
		"bases": {"resolvedDependencies[4]", func(m *provenance.Made) {
			m.Request.Bases = []manifest.Base{{Image: "docker.io/library/debian:12", Digest: sum("base")}}
		}},
		"network":   {"externalParameters.network", func(m *provenance.Made) { m.Manifest.Built.Network = false }},
		"published": {"subject[0].digest", func(m *provenance.Made) { m.Published = sum("other") }},
		"content":   {"subject[1].digest", func(m *provenance.Made) { m.Manifest.Summary = "other" }},
		"blob":      {"subject[4].digest", func(m *provenance.Made) { m.Blobs[1].Digest = sum("other") }},
		"blob less": {"subject[4].name", func(m *provenance.Made) { m.Blobs = m.Blobs[:1] }},
		"blob more": {"subject[5].name is missing", func(m *provenance.Made) { m.Blobs = append(m.Blobs, provenance.Blob{Name: "x", Digest: sum("x")}) }},
		"began":     {"startedOn", func(m *provenance.Made) { m.Began = m.Began.Add(time.Millisecond) }},
		"ended":     {"and the answer from", func(m *provenance.Made) { m.Finished = m.Finished.Add(-time.Millisecond) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			other := made()
			c.do(&other)
			want := c.want
			if name == "began" {
				want = "predicate.runDetails.metadata"
			}
			err := provenance.Verify(of(t, made()), other)
			if fault.KindOf(err) != fault.Denied || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
}

func TestWhatIsNoStatement(t *testing.T) {
	t.Parallel()
	good := string(encode(t, of(t, made())))
	for name, c := range map[string]struct{ old, new, want string }{
		"type":           {provenance.StatementType, "https://in-toto.io/Statement/v0.1", `at _type: "https://in-toto.io/Statement/v0.1"; want https://in-toto.io/Statement/v1`},
		"predicate":      {provenance.PredicateType, "https://slsa.dev/provenance/v0.2", `at predicateType: `},
		"build type":     {provenance.BuildType, "mesh:build/v2", `at predicate.buildDefinition.buildType: "mesh:build/v2"; want mesh:build/v1`},
		"unknown":        {`"commit"`, `"commits"`, `unknown key "commits"`},
		"twice":          {`"attempt":2`, `"attempt":2,"attempt":3`, `attempt`},
		"no digest":      {`{"sha256":"` + sum("published").Hex() + `"}`, `{}`, `at subject[0].digest: 0 digests; want one`},
		"algorithm":      {`"gitCommit"`, `"md5"`, `at predicate.buildDefinition.resolvedDependencies[0].digest.md5`},
		"commit":         {`"gitCommit":"a`, `"gitCommit":"g`, `resolvedDependencies[0].digest.gitCommit`},
		"short digest":   {sum("published").Hex(), "ab", `at subject[0].digest.sha256: "ab"; want the hexadecimal digits`},
		"time":           {`"startedOn":"2025-11-30T07:00:00.123Z"`, `"startedOn":"yesterday"`, `want two times in UTC`},
		"another zone":   {`"startedOn":"2025-11-30T07:00:00.123Z"`, `"startedOn":"2025-11-30T08:00:00.123+01:00"`, `want two times in UTC`},
		"backwards":      {`"startedOn":"2025-11-30T07:00:00.123Z"`, `"startedOn":"2025-12-30T07:00:00.123Z"`, `the later one last`},
		"about nothing":  {`"subject":[`, `"subject":[],"x":[`, `subject`},
		"trailing":       {`}}}`, `}}}{}`, ``},
		"no such builds": {`"runDetails"`, `"runDetail"`, `unknown key "runDetail"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := strings.Replace(good, c.old, c.new, 1)
			if in == good {
				t.Fatal("nothing was replaced")
			}
			_, err := provenance.Decode([]byte(in))
			if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

// Whatever was made, its statement is read as it was written and verified; and two
// statements are the same only where the same was made.
func TestWhatWasMadeIsWhatIsSaid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) provenance.Made {
			m := made()
			word := rapid.StringMatching(`[a-z]{1,3}`)
			m.Request.Module, m.Request.Target = word.Draw(t, name), word.Draw(t, name)
			m.Request.Folder = rapid.SampledFrom([]string{"", "a", "a/b"}).Draw(t, name)
			m.Request.Closure = nil
			for range rapid.IntRange(0, 2).Draw(t, name) {
				m.Request.Closure = append(m.Request.Closure, manifest.Input{Module: word.Draw(t, name), Artifact: "lib", Digest: sum(word.Draw(t, name))})
			}
			m.Blobs = nil
			for range rapid.IntRange(0, 2).Draw(t, name) {
				m.Blobs = append(m.Blobs, provenance.Blob{Name: word.Draw(t, name), Digest: sum(word.Draw(t, name))})
			}
			m.Finished = m.Began.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, name)) * time.Millisecond)
			return m
		}
		one, two := draw("one"), draw("two")
		first, err := provenance.Of(one)
		if err != nil {
			t.Fatal(err)
		}
		data, err := first.Encode()
		if err != nil {
			t.Fatal(err)
		}
		s, err := provenance.Decode(data)
		if err != nil || provenance.Verify(s, one) != nil {
			t.Fatalf("%v, %v", err, provenance.Verify(s, one))
		}
		second, err := provenance.Of(two)
		if err != nil {
			t.Fatal(err)
		}
		two.Finished = one.Finished // between its beginning and then it may have ended
		same := second
		same.Predicate.Run.Metadata.Finished = first.Predicate.Run.Metadata.Finished
		if is := provenance.Verify(s, two) == nil; is != reflect.DeepEqual(first, same) {
			t.Fatalf("it stands for what else was made, %v:\n%+v\n%+v", is, first, second)
		}
	})
}
