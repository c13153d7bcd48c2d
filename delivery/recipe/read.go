package recipe

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"noxmesh/delivery/imports/container"
	"noxmesh/internal/fault"
)

// Scratch is the image that has nothing in it.
const Scratch = "scratch"

// Recipe is a container file of which every line is taken.
type Recipe struct {
	Path   string
	Stages []Stage // the last is the image

	file container.File
}

// Stage is one part of a container file.
type Stage struct {
	Line  int
	Image string // that it stands on, or Scratch; empty where it stands on a stage
	Below int    // then: which
	steps []container.Step
	from  map[int]int // by line, the stage that COPY takes from
}

// Read reads the container file at path. Refuses says why it may not stand on an image,
// or nothing.
func Read(path string, text []byte, platform string, refuses func(image string) string) (*Recipe, error) {
	file, faults := container.Whole(path, text, platform)
	if len(faults) > 0 {
		return nil, &fault.Error{Kind: fault.Invalid, Err: &Refusal{path, faults[0].At.Line, faults[0].Why, true}}
	}
	r := &reading{Recipe: Recipe{Path: path, file: file}, platform: platform, refuses: refuses, names: map[string]int{}}
	for _, s := range file.Steps {
		var why string
		switch {
		case s.Name == "FROM":
			why = r.from(s)
		case len(r.Stages) > 0:
			why = r.step(s)
		}
		if why != "" {
			return nil, &fault.Error{Kind: fault.Invalid, Err: &Refusal{path, s.Line, why, false}}
		}
	}
	return &r.Recipe, nil
}

// Refusal is why a container file is not taken.
type Refusal struct {
	Path string
	Line int
	Why  string

	Unread bool // it cannot be read at all, as whoever looks for what it stands on finds too
}

// Error is the refusal with its place.
func (r *Refusal) Error() string { return fmt.Sprintf("%s:%d: %s", r.Path, r.Line, r.Why) }

type reading struct {
	Recipe
	platform string
	refuses  func(image string) string
	names    map[string]int
}

func (r *reading) globally(name string) (string, bool) {
	value, ok := r.file.Global[name]
	return value, ok
}

// from begins a stage, and is why it cannot.
func (r *reading) from(s container.Step) string {
	for _, flag := range s.Flags {
		key, value, _ := strings.Cut(flag, "=")
		value, err := r.file.Fill(value, r.globally)
		if key != "--platform" || err != nil || value != r.platform {
			return fmt.Sprintf("FROM %s is not taken: the image is for %s, as everything that this builder makes", flag, r.platform)
		}
	}
	words := strings.Fields(s.Rest)
	named, err := r.file.Fill(words[0], r.globally)
	if err != nil {
		return fmt.Sprintf("FROM %s: %v", words[0], err)
	}
	at := len(r.Stages)
	stage := Stage{Line: s.Line, Image: named, from: map[int]int{}}
	if below, ok := r.names[strings.ToLower(named)]; ok {
		stage.Image, stage.Below = "", below
	} else if named != Scratch {
		if why := r.refuses(named); why != "" {
			return fmt.Sprintf("FROM %s: %s", named, why)
		}
	}
	if len(words) == 3 {
		if _, twice := r.names[strings.ToLower(words[2])]; twice {
			return fmt.Sprintf("the stage %q is named twice", words[2])
		}
		r.names[strings.ToLower(words[2])] = at
	}
	r.Stages = append(r.Stages, stage)
	return ""
}

// step takes an instruction into its stage, and is why it cannot.
func (r *reading) step(s container.Step) string {
	stage := &r.Stages[len(r.Stages)-1]
	instead := map[string]string{
		"ONBUILD": "write it into the file that stands on this one", "MAINTAINER": "write LABEL",
	}
	switch why := instead[s.Name]; {
	case why != "":
		return s.Name + " is not taken: " + why
	case s.Documents:
		return s.Name + " with a here-document is not taken: write it into a file of the tree"
	case s.Name == "COPY" || s.Name == "ADD":
		if why := r.copies(stage, s); why != "" {
			return why
		}
	case s.Name == "HEALTHCHECK":
		if _, err := readHealth(s); err != nil {
			return "HEALTHCHECK: " + err.Error()
		}
	case len(s.Flags) > 0:
		return fmt.Sprintf("%s %s is not taken", s.Name, s.Flags[0])
	case s.Rest == "":
		return s.Name + " says nothing"
	}
	stage.steps = append(stage.steps, s)
	return ""
}

// copies looks where COPY or ADD takes from: the folder, or for COPY an earlier stage.
func (r *reading) copies(stage *Stage, s container.Step) string {
	all := fields(s.Rest)
	if len(all) < 2 {
		return s.Name + " is followed by what is copied, and where to"
	}
	for _, from := range all[:len(all)-1] {
		if why := fetches(from); s.Name == "ADD" && why != "" {
			return why
		}
	}
	for _, flag := range s.Flags {
		key, value, _ := strings.Cut(flag, "=")
		switch {
		case key == "--link" && value == "": // how it is made, and not what
		case key == "--chown" && value != "" && strings.Count(value, ":") < 2: // who that is only the stage knows
		case key == "--from" && s.Name == "COPY":
			at, ok := r.stage(value)
			if !ok {
				return fmt.Sprintf("COPY %s is not taken: %q is no earlier stage of this file; write FROM %s AS a stage before", flag, value, value)
			}
			stage.from[s.Line] = at
		default:
			return fmt.Sprintf("%s %s is not taken: of rights only the executable bit is kept", s.Name, flag)
		}
	}
	return ""
}

// stage is an earlier stage, by its name or number.
func (r *reading) stage(named string) (at int, ok bool) {
	at, ok = r.names[strings.ToLower(named)]
	if n, err := strconv.Atoi(named); !ok && err == nil {
		at, ok = n, n >= 0
	}
	return at, ok && at < len(r.Stages)-1
}

// away is how what lies somewhere else is named: an address, or a repository by ssh.
var away = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*://|[A-Za-z0-9_.-]+@[A-Za-z0-9_.-]+:)`)

// fetches is why ADD does not take something that lies somewhere else, or nothing.
func fetches(from string) string {
	if !away.MatchString(from) {
		return ""
	}
	return fmt.Sprintf("ADD %s is not taken: what lies somewhere else is no part of what the build is made of; put it into the tree, or fetch it in build.run, and name the file", from)
}

// fields is the words of a text, as a list or with blanks between them.
func fields(text string) []string {
	if all, list := words(text); list {
		return all
	}
	return strings.Fields(text)
}

// words is a list of words as JSON, where it is one.
func words(text string) (all []string, list bool) {
	if !strings.HasPrefix(text, "[") || json.Unmarshal([]byte(text), &all) != nil {
		return nil, false
	}
	return all, true
}

// Needed is the stages that the image needs, each after those that it needs itself.
func (r *Recipe) Needed() []int {
	need := map[int]bool{len(r.Stages) - 1: true}
	for at, stage := range slices.Backward(r.Stages) {
		if !need[at] {
			continue
		}
		if stage.Image == "" {
			need[stage.Below] = true
		}
		for _, from := range stage.from {
			need[from] = true
		}
	}
	var all []int
	for at := range r.Stages {
		if need[at] {
			all = append(all, at)
		}
	}
	return all
}
