package delivery_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"noxmesh/delivery"
	"noxmesh/delivery/artifact"
	"noxmesh/delivery/build"
	"noxmesh/delivery/environment"
	"noxmesh/delivery/graph"
	"noxmesh/delivery/imports"
	"noxmesh/delivery/source"
	"noxmesh/delivery/verdict"
	"noxmesh/document"
	"noxmesh/manifest"
)

// gives is a build that is a library in these languages.
func gives(b artifact.Build, languages ...string) artifact.Build {
	b.Where.Archives = map[document.Digest]build.Packed{}
	for _, language := range languages {
		l := manifest.Library{Artifact: "lib-" + language, Language: language, Digest: digest(language)}
		b.Manifest.Built.Libraries = append(b.Manifest.Built.Libraries, l)
		b.Where.Archives[l.Digest] = build.Packed{Size: 7}
	}
	return b
}

func unreadable(all ...imports.Fault) change {
	return func(f *delivery.Facts) {
		f.Source.Code.Says = imports.Say(map[string]imports.Found{"go": {Faults: all}})
	}
}

func TestInputsOf(t *testing.T) {
	t.Parallel()
	lib := graph.Laid{Layers: []graph.Layer{{Module: "lib", Language: "go"}}, Open: []string{"go"}}
	bad := imports.Fault{At: imports.Place{File: "a.go", Line: 3}, Why: "want }"}
	many := []imports.Fault{bad, bad, bad, bad, bad}
	tests := bad
	tests.Test = true
	good := builds(gives(made("c1/t1", 1), "go", "rust"))
	for _, c := range []struct {
		name string
		is   delivery.Facts
		laid graph.Laid
		lib  delivery.Facts
		want string
	}{
		{name: "nothing is asked for", is: facts(), want: ""},
		{name: "a library", is: facts(), laid: lib, lib: facts(good), want: "lib/lib-go laid 7"},
		{name: "not built", is: facts(), laid: lib, lib: facts(), want: "waits for the build of lib, since 1"},
		{name: "built of something else", is: facts(), laid: lib, lib: facts(from(read("c2/t2")), good), want: "waits for the build of lib, since 1"},
		{name: "gone", is: facts(), laid: lib, lib: facts(builds(gone(gives(made("c1/t1", 1), "go")))), want: "waits for the build of lib, since 1"},
		{name: "unfit", is: facts(), laid: lib, lib: facts(builds(judged(gives(made("c1/t1", 1), "go"), verdict.Unfit))), want: "waits for a build of lib that is fit: its newest is unfit, since 1"},
		{
			name: "never read", is: facts(), laid: lib, lib: facts(from(unread(source.Source{}, source.Gone, "no such repository"))),
			want: "waits for the source of lib: no such repository: no such repository, since 1",
		},
		{name: "read before", is: facts(), laid: lib, lib: facts(from(unread(read("c1/t1"), source.Unreachable, "off")), good), want: "lib/lib-go laid 7"},
		{
			name: "no library of the language", is: facts(), laid: lib, lib: facts(builds(gives(made("c1/t1", 1), "rust"))),
			want: `waits for a library of lib: it is imported in go and makes none; say under build.artifacts of its module.json {"go": {"type": "library", "language": "go"}}, since 1`,
		},
		{
			name: "it waits itself", is: facts(), laid: lib,
			lib:  facts(func(f *delivery.Facts) { f.Inputs.Lacks = []delivery.Waiting{{For: "the build of base", Since: at(4)}} }),
			want: "waits for lib, which waits for the build of base, since 1",
		},
		{name: "a circle", is: facts(), laid: graph.Laid{Problem: "is in a circle"}, want: "waits for its imports: it is in a circle, since 1"},
		{name: "a file that cannot be read", is: facts(unreadable(bad)), laid: graph.Laid{Open: []string{"go"}}, want: "waits for a file that can be read as go: a.go:3: want }, since 1"},
		{name: "where nobody owns anything in the language", is: facts(unreadable(bad)), laid: graph.Laid{Open: []string{"rust"}}, want: ""},
		{name: "a test that cannot be read", is: facts(unreadable(tests)), laid: graph.Laid{Open: []string{"go"}}, want: ""},
		{
			name: "many", is: facts(unreadable(many...)), laid: graph.Laid{Open: []string{"go"}},
			want: strings.Repeat("waits for a file that can be read as go: a.go:3: want }, since 1\n", 3) + "waits for 2 more files that can be read as go, since 1",
		},
	} {
		in := delivery.InputsOf(c.is, c.laid, func(module string) delivery.Given { return delivery.Given{Module: module, Facts: c.lib} })
		var got []string
		for i, input := range in.All {
			got = append(got, fmt.Sprintf("%s/%s laid %d", input.Module, input.Artifact, in.Laid[i].Packed.Size))
		}
		for _, w := range in.Lacks {
			got = append(got, fmt.Sprintf("waits for %s, since %s", w.For, minute(w.Since)))
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%s: it says\n%s\nwant\n%s", c.name, strings.Join(got, "\n"), c.want)
		}
		f := c.is
		f.Inputs = in
		d := delivery.Compare(f, at(9))
		if asks := d.Ask != nil; asks != (len(in.Lacks) == 0) {
			t.Errorf("%s: it asks for a build: %v", c.name, asks)
		}
		if d.Ask != nil && len(d.Ask.Closure.Inputs) != len(in.All) {
			t.Errorf("%s: asked of %+v", c.name, d.Ask.Closure)
		}
	}
}

// makes is a build of base that made this as its only image.
func makes(b artifact.Build, image string) artifact.Build {
	b.Manifest.Module = "base"
	b.Manifest.Built.Images = []manifest.Image{{Artifact: "tools", Digest: digest(image), Size: 7}}
	return b
}

// The image of another module is an input by its digest, once for both of its names;
// where the module is built in it, it is the environment too.
func TestTheImageOfAModuleIsAnInput(t *testing.T) {
	t.Parallel()
	layer := func(name string) graph.Layer {
		return graph.Layer{Module: "base", Language: build.InImages, Name: name}
	}
	in := func(name string) change {
		return func(f *delivery.Facts) { f.In = environment.Wanted{In: name, Owner: "base"} }
	}
	const base, tools = "mesh.internal/base", "mesh.internal/base/tools"
	good := facts(builds(makes(made("c1/t1", 1), "one")))
	for _, c := range []struct {
		name    string
		is      delivery.Facts
		layers  []graph.Layer
		base    delivery.Facts
		nobodys string
		inputs  int
		in      document.Digest
		waits   string
	}{
		{name: "built in it", is: facts(in(base)), layers: []graph.Layer{layer(base)}, base: good, inputs: 1, in: digest("one")},
		{name: "by its other name, and a file stands on it", is: facts(in(tools)), layers: []graph.Layer{layer(base), layer(tools)}, base: good, inputs: 1, in: digest("one")},
		{name: "only a file stands on it", is: facts(), layers: []graph.Layer{layer(tools)}, base: good, inputs: 1},
		{name: "not built", is: facts(in(base)), layers: []graph.Layer{layer(base)}, base: facts(), waits: "the image mesh.internal/base: the build of base"},
		{
			name: "not fit", is: facts(in(base)), layers: []graph.Layer{layer(base)}, base: facts(builds(judged(makes(made("c1/t1", 1), "one"), verdict.Unfit))),
			waits: "the image mesh.internal/base: a build of base that is fit: its newest is unfit",
		},
		{name: "made no such one", is: facts(in(base)), layers: []graph.Layer{layer(base)}, base: facts(builds(made("c1/t1", 1))), waits: "the image mesh.internal/base: a build of base that makes one"},
		{name: "nobody makes it", is: facts(func(f *delivery.Facts) { f.In = environment.Wanted{In: base} }), nobodys: base, waits: "the image mesh.internal/base, which module.json:2 asks for: no module of the mesh makes one that is called so"},
		{name: "it is none of the mesh", is: facts(), nobodys: "docker.io/library/base"},
	} {
		laid := graph.Laid{Layers: c.layers}
		if c.nobodys != "" {
			laid.Nobodys = []graph.Edge{{Language: build.InImages, Name: c.nobodys, At: imports.Place{File: "module.json", Line: 2}}}
		}
		got := delivery.InputsOf(c.is, laid, func(module string) delivery.Given { return delivery.Given{Module: module, Facts: c.base} })
		var waits []string
		for _, w := range got.Lacks {
			waits = append(waits, w.For)
		}
		if len(got.All) != c.inputs || len(got.Laid) != c.inputs || got.Environment != c.in || strings.Join(waits, "; ") != c.waits {
			t.Errorf("%s: %+v", c.name, got)
		}
		if c.inputs == 1 && (got.All[0] != manifest.Input{Module: "base", Artifact: "tools", Digest: digest("one")} || !got.Laid[0].IsImage()) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// That the image has moved which a module is built in is said once.
func TestAnImageThatMovedIsOneCause(t *testing.T) {
	t.Parallel()
	was := made("c1/t1", 1)
	was.Manifest.Built.Environment = digest("one")
	was.Manifest.Built.Closure = []manifest.Input{{Module: "base", Artifact: "tools", Digest: digest("one")}, {Module: "lib", Artifact: "go", Digest: digest("l1")}}
	f := facts(builds(was))
	f.In = environment.Wanted{In: "mesh.internal/base", Owner: "base", Made: digest("two")}
	f.Inputs = delivery.Inputs{Environment: digest("two"), All: []manifest.Input{{Module: "base", Artifact: "tools", Digest: digest("two")}, {Module: "lib", Artifact: "go", Digest: digest("l2")}}}
	want := []delivery.Reason{
		{Cause: delivery.InputMoved, Module: "lib", Artifact: "go", From: string(digest("l1")), To: string(digest("l2"))},
		{Cause: delivery.ImageMoved, Module: "base", Image: "mesh.internal/base", From: string(digest("one")), To: string(digest("two"))},
	}
	if d := cmp.Diff(want, delivery.Stale(f)); d != "" {
		t.Error(d)
	}
	f.Inputs.Environment = digest("one") // a container file stands on it, and nothing runs in it
	f.Inputs.All[1].Digest = digest("l1")
	if got := delivery.Stale(f); len(got) != 1 || got[0].Cause != delivery.InputMoved || got[0].Module != "base" {
		t.Errorf("%+v", got)
	}
}
