package container

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// instruction reads what one instruction asks for.
func (r *reader) instruction(i instruction) {
	if r.began == 0 && i.name != "FROM" && i.name != "ARG" && i.name != "" {
		r.fault(i.line, "%s stands before the first FROM, where only ARG may", i.name)
	}
	switch i.name {
	case "FROM":
		r.from(i)
	case "ARG":
		r.arg(i)
	case "ENV":
		r.env(i)
	case "COPY", "ADD", "RUN":
		r.flags(i, false)
	case "ONBUILD":
		r.flags(*i.later, true)
	}
}

// from reads a stage's base.
func (r *reader) from(i instruction) {
	number := r.began
	r.began++
	r.local = map[string]string{}
	base := blanks(i.rest)
	if len(base) != 1 && (len(base) != 3 || !strings.EqualFold(base[1], "as")) {
		r.fault(i.line, "FROM is followed by an image, or by an image, AS and a name")
		return
	}
	if len(base) == 3 && !stageName(strings.ToLower(base[2])) {
		r.fault(i.line, "a stage cannot be named %s: a name begins with a letter and is made of letters, digits, - _ and .", quote(base[2]))
	}
	name, unset, err := filled(base[0], i.escape, &r.budget, r.globally)
	if err != nil {
		r.fault(i.line, "FROM %s: %v", quote(base[0]), err)
		return
	}
	if stage, ok := r.stages[strings.ToLower(name)]; ok && stage < number {
		return
	}
	r.image(i.line, "FROM "+base[0], name, unset)
}

func stageName(name string) bool {
	for at, c := range name {
		if letter := c >= 'a' && c <= 'z'; !letter && (at == 0 || !strings.ContainsRune("0123456789-_.", c)) {
			return false
		}
	}
	return name != ""
}

func (r *reader) globally(name string) (string, bool) {
	value, ok := r.global[name]
	return value, ok
}

func (r *reader) locally(name string) (string, bool) {
	value, ok := r.local[name]
	return value, ok
}

// image asks for an image. What was left open says why there is none, or no tag.
func (r *reader) image(line int, from, reference string, unset []string) {
	if reference == "scratch" {
		return
	}
	name, ok := Image(reference)
	switch {
	case ok:
	case len(unset) > 0:
		r.fault(line, "%s: ARG %s has no default: write ARG %s=… before the first FROM", quote(from), unset[0], unset[0])
		name, ok = Image(strings.TrimRight(reference, ":@"))
	case reference == "":
		r.fault(line, "%s names no image", quote(from))
	default:
		r.fault(line, "%s: %s is not the name of an image", quote(from), quote(reference))
	}
	if ok {
		r.asks(line, name)
	}
}

// arg reads what ARG says, which before the first FROM is for every FROM, and
// behind one for its stage.
func (r *reader) arg(i instruction) {
	for _, word := range words(i.rest, i.escape) {
		key, value, has := strings.Cut(word, "=")
		if key == "" {
			r.fault(i.line, "ARG %s has no name", quote(word))
			continue
		}
		if !has {
			if inherited, ok := r.global[key]; ok && r.began > 0 {
				r.local[key] = inherited
			}
			continue
		}
		r.set(i, key, value)
	}
}

// env reads what ENV says, in its old form too.
func (r *reader) env(i instruction) {
	if r.began == 0 {
		return
	}
	pairs := words(i.rest, i.escape)
	if len(pairs) == 0 {
		return
	}
	if !strings.Contains(pairs[0], "=") {
		if at := strings.IndexAny(i.rest, blank); at > 0 {
			r.set(i, i.rest[:at], strings.TrimLeft(i.rest[at:], blank))
		}
		return
	}
	for _, pair := range pairs {
		key, value, _ := strings.Cut(pair, "=")
		r.set(i, key, value)
	}
}

// set keeps a value. One in a stage that cannot be told is not kept, and matters
// only where it is used.
func (r *reader) set(i instruction, key, value string) {
	into, env := r.global, r.globally
	if r.began > 0 {
		into, env = r.local, r.locally
	}
	full, _, err := filled(value, i.escape, &r.budget, env)
	if err == nil {
		into[key] = full
		return
	}
	delete(into, key)
	if r.began == 0 {
		r.fault(i.line, "ARG %s: %v", quote(key), err)
	}
}

// flags reads the flags that name an image or a stage.
func (r *reader) flags(i instruction, later bool) {
	for _, flag := range i.flags {
		key, value, has := strings.Cut(flag, "=")
		switch {
		case !has:
		case key == "--from" && i.name != "RUN":
			r.source(i, value, later)
		case key == "--mount" && i.name == "RUN":
			r.mount(i, value, later)
		}
	}
}

// mount reads --mount=type=bind,from=builder,target=/x.
func (r *reader) mount(i instruction, value string, later bool) {
	if len(value) > maxValue {
		r.fault(i.line, "--mount comes to more than %d bytes", maxValue)
		return
	}
	fields, err := csv.NewReader(strings.NewReader(value)).Read()
	if err != nil && !errors.Is(err, io.EOF) {
		r.fault(i.line, "--mount=%s is not a list with commas: its quotes do not fit", quote(value))
		return
	}
	for _, field := range fields {
		if key, from, _ := strings.Cut(field, "="); strings.EqualFold(key, "from") {
			r.source(i, from, later)
		}
	}
}

// source reads what --from names: a stage, by its name or number, or an image.
func (r *reader) source(i instruction, from string, later bool) {
	if from == "" {
		return
	}
	name, unset, err := filled(from, i.escape, &r.budget, r.locally)
	if err != nil {
		r.fault(i.line, "--from=%s: %v", quote(from), err)
		return
	}
	if _, ok := r.stages[strings.ToLower(name)]; ok {
		return
	}
	number, err := strconv.Atoi(name)
	switch {
	case err != nil:
		r.image(i.line, "--from="+from, name, unset)
	case i.name != "RUN" && !later && (number < 0 || number >= r.count):
		r.fault(i.line, "--from=%s: %s", quote(from), fmt.Sprintf("there are %d stages, and the first is 0", r.count))
	}
}
