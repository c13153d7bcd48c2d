package delivery

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"noxmesh/delivery/artifact"
	"noxmesh/delivery/build"
	"noxmesh/delivery/environment"
	"noxmesh/delivery/graph"
	"noxmesh/delivery/imports"
	"noxmesh/delivery/source"
	"noxmesh/document"
	"noxmesh/image"
	"noxmesh/manifest"
)

// Inputs is what a module would be built against now, or what stands against it.
type Inputs struct {
	All   []manifest.Input // sorted; of what is laid out for the compile, direct and through others
	Laid  []build.Laid     // the same, with how to get each
	Lacks []Waiting        // what has to come first

	Environment document.Digest // the image that it would be built in; empty where it names none, or that is not known
	Bases       []manifest.Base // what its container files stand on by a tag; nothing of one that is not known
	Away        *Waiting        // an image is known, and the last look at it has failed

	Problem string   // why its imports alone stand against a build; empty where they do not
	Open    []string // the languages in which it may ask for more than could be read
}

// Given is what a module gives to others now.
type Given struct {
	Module string
	Facts  Facts // with its own inputs
}

// InputsOf works out what a module is built against. Given says what the modules
// of its layers give now.
func InputsOf(f Facts, laid graph.Laid, given func(module string) Given) Inputs {
	in := Inputs{All: []manifest.Input{}}
	since := firstKnown(f.Source.MovedAt, f.AddedAt)
	in.readable(f.Source.Code, laid.Open, since)
	in.Problem, in.Open = laid.Problem, laid.Open
	in.environment(f)
	for _, base := range f.Bases {
		if in.named(f, base); base.Digest() != "" {
			in.Bases = append(in.Bases, manifest.Base{Image: base.In, Digest: base.Digest()})
		}
	}
	in.nobodys(f, laid.Nobodys)
	if in.Problem != "" {
		in.Lacks = append(in.Lacks, Waiting{"its imports: it " + laid.Problem, since})
		return in
	}
	for _, layer := range laid.Layers {
		in.add(f, layer, given(layer.Module))
	}
	slices.SortFunc(in.All, manifest.Input.Compare)
	slices.SortFunc(in.Laid, func(a, b build.Laid) int {
		return cmp.Or(cmp.Compare(a.Module, b.Module), cmp.Compare(a.Artifact, b.Artifact))
	})
	in.All, in.Laid = slices.Compact(in.All), slices.Compact(in.Laid) // an image has two names
	return in
}

// environment is the image that a module is built in. Until it has been found once
// the module waits; a registry that is away later is no reason not to build. The
// image of another module is one of its layers.
func (in *Inputs) environment(f Facts) {
	if f.In.Own() {
		return
	}
	in.Environment = f.In.Digest()
	in.named(f, f.In)
}

// named lacks an image that a registry names, or says that it is away.
func (in *Inputs) named(f Facts, asked environment.Wanted) {
	says := asked.Words()
	if says == "" {
		return
	}
	w := Waiting{says, firstKnown(asked.Image.Since, firstKnown(f.Source.MovedAt, f.AddedAt))}
	if asked.Digest() == "" {
		in.Lacks = append(in.Lacks, w)
		return
	}
	in.Away = &w
}

// nobodys lacks the images of the mesh that no module makes: no registry has them.
func (in *Inputs) nobodys(f Facts, asked []graph.Edge) {
	for _, e := range asked {
		if r, _ := image.Parse(e.Name); e.Language == build.InImages && r.IsOwn() {
			says := fmt.Sprintf("the image %s, which %s asks for: no module of the mesh makes one that is called so", e.Name, e.At)
			in.Lacks = append(in.Lacks, Waiting{says, firstKnown(f.Source.MovedAt, f.AddedAt)})
		}
	}
}

// readable lacks what could not be read, in the languages in which others own
// something: it may ask for that. What only tests ask for is not waited for.
func (in *Inputs) readable(code imports.Reading, open []string, since time.Time) {
	if len(open) == 0 || !code.Says.Faulty() {
		return
	}
	found := code.Says.Found()
	for _, language := range open {
		faults := slices.DeleteFunc(found[language].Faults, func(f imports.Fault) bool { return f.Test })
		for i, fault := range faults {
			if i == faultsShown {
				in.Lacks = append(in.Lacks, Waiting{fmt.Sprintf("%d more files that can be read as %s", len(faults)-i, language), since})
				break
			}
			in.Lacks = append(in.Lacks, Waiting{fmt.Sprintf("a file that can be read as %s: %s: %s", language, fault.At, fault.Why), since})
		}
	}
}

// faultsShown is how many files are named that could not be read: whoever mends
// those sees the next.
const faultsShown = 3

// add adds what one module gives in one language.
func (in *Inputs) add(f Facts, layer graph.Layer, g Given) {
	b := CurrentBuild(g.Facts)
	switch {
	case g.Facts.Source.State != source.Read && b == nil:
		in.lack(f, g, "%sthe source of %s: %s", makes(layer), layer.Module, sourceWords(g.Facts.Source))
	case len(g.Facts.Inputs.Lacks) > 0:
		in.lack(f, g, "%s%s, which waits for %s", makes(layer), layer.Module, g.Facts.Inputs.Lacks[0].For)
	case b == nil:
		in.lack(f, g, "%sthe build of %s", makes(layer), layer.Module)
	case !b.Verdict.Eligible():
		in.lack(f, g, "%sa build of %s that is fit: its newest is %s", makes(layer), layer.Module, b.Verdict)
	case layer.Language == build.InImages:
		in.takeImage(f, layer, g, *b)
	default:
		in.take(f, layer, g, *b)
	}
}

// makes is what a layer is waited for as, in words.
func makes(l graph.Layer) string {
	if l.Language == build.InImages {
		return "the image " + l.Name + ": "
	}
	return ""
}

// takeImage takes an image of another module: its commands run in it where that is
// the name that build.in has, and it is laid out in any case.
func (in *Inputs) takeImage(f Facts, layer graph.Layer, g Given, b artifact.Build) {
	i, there := b.Manifest.Image(layer.Name)
	if !there {
		in.lack(f, g, "%sa build of %s that makes one", makes(layer), layer.Module)
		return
	}
	in.All = append(in.All, manifest.Input{Module: layer.Module, Artifact: i.Artifact, Digest: i.Digest})
	in.Laid = append(in.Laid, build.LaidImage(layer.Module, i))
	if layer.Name == f.In.In {
		in.Environment = i.Digest
	}
}

// ImageOf is the image of this name that a module makes now, or empty.
func ImageOf(f Facts, name string) document.Digest {
	b := CurrentBuild(f)
	if b == nil || !b.Verdict.Eligible() {
		return ""
	}
	i, _ := b.Manifest.Image(name)
	return i.Digest
}

func (in *Inputs) take(f Facts, layer graph.Layer, g Given, b artifact.Build) {
	i := slices.IndexFunc(b.Manifest.Built.Libraries, func(l manifest.Library) bool { return l.Language == layer.Language })
	if i < 0 {
		in.lack(f, g, "a library of %s: it is imported in %s and makes none; say under build.artifacts of its module.json {\"%s\": {\"type\": \"library\", \"language\": \"%s\"}}",
			layer.Module, layer.Language, layer.Language, layer.Language)
		return
	}
	l := b.Manifest.Built.Libraries[i]
	in.All = append(in.All, manifest.Input{Module: layer.Module, Artifact: l.Artifact, Digest: l.Digest})
	in.Laid = append(in.Laid, build.Laid{Module: layer.Module, Artifact: l.Artifact, Language: l.Language, Digest: l.Digest, Packed: b.Where.Archives[l.Digest]})
}

// lack adds what has to come first. Since when it is waited for is when the
// later of the two sources moved.
func (in *Inputs) lack(f Facts, g Given, format string, args ...any) {
	since := firstKnown(f.Source.MovedAt, f.AddedAt)
	if moved := firstKnown(g.Facts.Source.MovedAt, g.Facts.AddedAt); moved.After(since) {
		since = moved
	}
	w := Waiting{fmt.Sprintf(format, args...), since}
	if !slices.ContainsFunc(in.Lacks, func(o Waiting) bool { return o.For == w.For }) {
		in.Lacks = append(in.Lacks, w)
	}
}

// waitFor makes a difference of what is lacking.
func (d *Difference) waitFor(lacks []Waiting) {
	for _, w := range lacks {
		d.wait(w.For, w.Since)
	}
}
