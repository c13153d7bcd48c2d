package keep

import (
	"bufio"
	"bytes"
	"maps"
	"os"
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

// PlanOf is the bytes that the plan on disk says that it is of; empty where there is none
// by this program. Whether it is whole, Plan finds out.
func (f *Folder) PlanOf(program string) document.Digest {
	file, err := f.root.Open(planFile, os.O_RDONLY)
	if err != nil {
		return ""
	}
	defer file.Close()
	var p Plan
	head := bufio.NewReader(file)
	if _, err = head.ReadString('\n'); err != nil {
		return ""
	}
	line, err := head.ReadString('\n')
	if err != nil || !p.head(line) || p.Program != program {
		return ""
	}
	return p.Of
}

// Plan is the plan on disk, or fault.NotFound where there is none that is whole:
// it can be made again, and is not synced. Where it says what the record says, it
// holds the very texts that the record holds.
func (f *Folder) Plan(r Record) (Plan, error) {
	p := planning{record: r}
	err := f.load(planFile, &p)
	if err == nil {
		err = p.whole()
	}
	if err != nil {
		return Plan{}, fault.Wrap(fault.NotFound, err, "read the plan")
	}
	return p.plan, nil
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

// planning is a plan that is being read: it is written to as the bytes come, and
// holds on to none of them.
type planning struct {
	record Record
	plan   Plan
	rest   []byte // of a line that has not ended yet
	wrong  string // the first line that is none of a plan
	begun  bool
}

// Grow is for whoever keeps what is written.
func (*planning) Grow(int) {}

// Write takes in the lines that have ended.
func (p *planning) Write(b []byte) (int, error) {
	end := bytes.LastIndexByte(b, '\n') + 1
	text := ""
	if end > 0 {
		p.rest = append(p.rest, b[:end]...)
		text, p.rest = string(p.rest), p.rest[:0]
	}
	p.rest = append(p.rest, b[end:]...)
	for line := range strings.Lines(text) {
		if p.wrong == "" && !p.line(line) {
			p.wrong = strings.Clone(line)
		}
	}
	return len(b), nil
}

// whole is what stands against the plan, once all of it was written.
func (p *planning) whole() error {
	if p.wrong != "" || len(p.rest) > 0 || !p.begun {
		return fault.New(fault.Invalid, "not a line of a plan: %q", document.Short(p.wrong+string(p.rest)))
	}
	return nil
}

func (p *Plan) head(line string) bool {
	w := words{rest: strings.Clone(line)}
	p.Of, p.Program = document.Digest(w.quoted()), w.quoted()
	p.Mesh, p.Node = w.quoted(), w.quoted()
	p.Tuple.Digest = document.Digest(w.quoted())
	p.Tuple.Epoch = w.number()
	var err error
	p.Tuple.Generation, err = strconv.ParseInt(w.last(), 10, 64)
	return !w.bad && err == nil && p.Of.Valid() && p.Tuple.Digest.Valid()
}

func (p *planning) line(line string) bool {
	w := words{rest: line}
	if !p.begun {
		p.begun = true
		p.plan.Body = declaration.Body{Modules: []declaration.Module{}, Resources: make([]declaration.Resource, 0, len(p.record.Done))}
		p.plan.Digests = make([]document.Digest, 0, len(p.record.Done))
		return p.plan.head(line)
	}
	switch w.word() {
	case "module":
		m := declaration.Module{Module: strings.Clone(w.quoted()), Content: document.Digest(strings.Clone(w.last()))}
		p.plan.Body.Modules = append(p.plan.Body.Modules, m)
		return !w.bad
	case "resource":
		p.resource(&w)
		return !w.bad
	case "secret":
		return p.secret(&w)
	case "traits":
		text := w.quoted()
		t, err := document.Decode[declaration.Traits](planFile, []byte(text), limits())
		if n := len(p.plan.Body.Resources); err == nil && n > 0 && w.rest == "\n" {
			p.plan.Body.Resources[n-1].Traits = &t
			return !w.bad
		}
	}
	return false
}

func (p *planning) resource(w *words) {
	var before declaration.Resource
	if n := len(p.plan.Body.Resources); n > 0 {
		before = p.plan.Body.Resources[n-1]
	}
	r := declaration.Resource{Type: like(before.Type, declaration.Type(w.word()))}
	digest := document.Digest(w.word())
	r.Digest, r.Size = document.Digest(w.optional()), w.number()
	r.ID, r.Path = w.quoted(), w.quoted()
	has, _ := p.record.Entries.Get(r.Path)
	r.ID, r.Path, r.Digest = like(has.ID, r.ID), like(has.Thing.Path, r.Path), like(has.Thing.Digest, r.Digest)
	r.Mode, r.Target = like(before.Mode, w.quoted()), like(has.Thing.Target, w.quoted())
	for !w.bad && w.rest != "\n" {
		r.After = append(r.After, strings.Clone(w.quoted()))
	}
	p.plan.Body.Resources = append(p.plan.Body.Resources, r)
	p.plan.Digests = append(p.plan.Digests, like(p.record.Done[r.ID], digest))
}

func (p *planning) secret(w *words) bool {
	name, sealed := strings.Clone(w.quoted()), strings.Clone(w.quoted())
	n := len(p.plan.Body.Resources)
	if w.bad || n == 0 || w.rest != "\n" {
		return false
	}
	r := &p.plan.Body.Resources[n-1]
	if _, twice := r.Secrets[name]; twice {
		return false
	}
	if r.Secrets == nil {
		r.Secrets = map[string]string{}
	}
	r.Secrets[name] = sealed
	return true
}

// like is the text that is held already, where it says the same, or one of its own.
func like[T ~string](held, text T) T {
	if text == held {
		return held
	}
	return T(strings.Clone(string(text)))
}
