package keep

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/internal/disk"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

const planFile = "plan"

// Plan is a declaration without the means to get its bytes, as it was read and
// found right before. It is worth something only to the same file and the same
// program.
type Plan struct {
	Of      document.Digest // the bytes of the declaration's file
	Program string          // the version of the program that found it right

	Mesh, Node string
	Tuple      declaration.Tuple
	Body       declaration.Body
	Digests    []document.Digest // of the resources
}

// Plan is the plan on disk, or fault.NotFound where there is none that is whole:
// it can be made again, and is not synced.
func (f *Folder) Plan() (Plan, error) {
	text, err := f.text(planFile)
	if err != nil {
		return Plan{}, fault.Wrap(fault.NotFound, err, "read the plan")
	}
	p, err := decodePlan(text)
	if err != nil {
		return Plan{}, fault.Wrap(fault.NotFound, err, "read the plan")
	}
	return p, nil
}

// SavePlan replaces the plan. After a power cut it may be gone.
func (f *Folder) SavePlan(p Plan) error {
	body := p.encode()
	return effect.Do("keep.plan.save", func() error {
		if err := disk.Lay(f.root, disk.Staged(planFile), []byte(header(document.Sum(body))), body); err != nil {
			return err
		}
		return f.root.Rename(disk.Staged(planFile), planFile)
	})
}

func (p Plan) encode() []byte {
	b := make([]byte, 0, 320*len(p.Body.Resources))
	for _, word := range []string{string(p.Of), p.Program, p.Mesh, p.Node, string(p.Tuple.Digest)} {
		b = append(strconv.AppendQuote(b, word), ' ')
	}
	b = append(strconv.AppendInt(b, p.Tuple.Epoch, 10), ' ')
	b = append(strconv.AppendInt(b, p.Tuple.Generation, 10), '\n')
	for _, m := range p.Body.Modules {
		b = append(b, "module "...)
		b = append(append(append(strconv.AppendQuote(b, m.Module), ' '), m.Content...), '\n')
	}
	for i, r := range p.Body.Resources {
		b = append(append(append(b, "resource "...), r.Type...), ' ')
		b = append(append(b, p.Digests[i]...), ' ')
		b = append(append(b, orDash(string(r.Digest))...), ' ')
		b = append(strconv.AppendInt(b, r.Size, 10), ' ')
		for _, word := range append([]string{r.ID, r.Path, r.Mode, r.Target}, r.After...) {
			b = append(strconv.AppendQuote(b, word), ' ')
		}
		b[len(b)-1] = '\n'
		b = appendTraits(b, r.Traits)
		for _, name := range slices.Sorted(maps.Keys(r.Secrets)) {
			b = append(strconv.AppendQuote(append(b, "secret "...), name), ' ')
			b = append(strconv.AppendQuote(b, r.Secrets[name]), '\n')
		}
	}
	return b
}

// appendTraits adds a line about the resource before it, where there is anything to say.
func appendTraits(b []byte, t *declaration.Traits) []byte {
	if t == nil {
		return b
	}
	text, err := document.Canonical(t)
	if err != nil {
		return append(b, "?\n"...) // no line of a plan: it is made again
	}
	return append(strconv.AppendQuote(append(b, "traits "...), string(text)), '\n')
}

// decodePlan holds on to no more of the text than what says which resources
// there are.
func decodePlan(text string) (Plan, error) {
	first, rest, _ := strings.Cut(text, "\n")
	first = strings.Clone(first)
	w := words{rest: first + "\n"}
	p := Plan{Of: document.Digest(w.quoted()), Program: w.quoted(), Mesh: w.quoted(), Node: w.quoted()}
	p.Tuple.Digest = document.Digest(w.quoted())
	p.Tuple.Epoch = w.number()
	var err error
	p.Tuple.Generation, err = strconv.ParseInt(w.last(), 10, 64)
	if w.bad || err != nil || !p.Of.Valid() || !p.Tuple.Digest.Valid() {
		return Plan{}, fault.New(fault.Invalid, "line 1: not the head of a plan")
	}
	n := strings.Count(rest, "\n")
	p.Body.Modules = []declaration.Module{}
	p.Body.Resources = slices.Grow([]declaration.Resource{}, n)
	p.Digests = slices.Grow([]document.Digest{}, n)
	for line := range strings.Lines(rest) {
		if !p.line(line) {
			return Plan{}, fault.New(fault.Invalid, "not a line of a plan: %q", document.Short(line))
		}
	}
	return p, nil
}

func (p *Plan) line(line string) bool {
	w := words{rest: line}
	switch w.word() {
	case "module":
		m := declaration.Module{Module: strings.Clone(w.quoted()), Content: document.Digest(strings.Clone(w.last()))}
		p.Body.Modules = append(p.Body.Modules, m)
		return !w.bad
	case "resource":
		var before declaration.Resource
		if n := len(p.Body.Resources); n > 0 {
			before = p.Body.Resources[n-1]
		}
		r := declaration.Resource{Type: declaration.Type(like(string(before.Type), w.word()))}
		digest := document.Digest(w.word())
		r.Digest, r.Size = document.Digest(w.optional()), w.number()
		r.ID, r.Path, r.Mode, r.Target = w.quoted(), w.quoted(), like(before.Mode, w.quoted()), w.quoted()
		for !w.bad && w.rest != "\n" {
			r.After = append(r.After, strings.Clone(w.quoted()))
		}
		p.Body.Resources, p.Digests = append(p.Body.Resources, r), append(p.Digests, digest)
		return !w.bad
	case "secret":
		name, sealed := strings.Clone(w.quoted()), strings.Clone(w.quoted())
		n := len(p.Body.Resources)
		if w.bad || n == 0 || w.rest != "\n" {
			return false
		}
		r := &p.Body.Resources[n-1]
		if _, twice := r.Secrets[name]; twice {
			return false
		}
		if r.Secrets == nil {
			r.Secrets = map[string]string{}
		}
		r.Secrets[name] = sealed
		return true
	case "traits":
		text := w.quoted()
		t, err := document.Decode[declaration.Traits](planFile, []byte(text), limits())
		if n := len(p.Body.Resources); err == nil && n > 0 && w.rest == "\n" {
			p.Body.Resources[n-1].Traits = &t
			return !w.bad
		}
	}
	return false
}

// like is a text of its own, or that of the resource before where that is the same.
func like(before, text string) string {
	if text == before {
		return before
	}
	return strings.Clone(text)
}
