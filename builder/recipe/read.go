package recipe

import (
	"encoding/json"
	"fmt"
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
		return nil, fault.New(fault.Invalid, "%s:%d: %s", path, faults[0].At.Line, faults[0].Why)
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
			return nil, fault.New(fault.Invalid, "%s:%d: %s", path, s.Line, why)
		}
	}
	return &r.Recipe, nil
}

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
		"ADD": "write COPY; what is somewhere else belongs into the tree", "ONBUILD": "write it into the file that stands on this one",
		"HEALTHCHECK": "an image of this kind says nothing of health", "MAINTAINER": "write LABEL",
	}
	switch why := instead[s.Name]; {
	case why != "":
		return s.Name + " is not taken: " + why
	case s.Documents:
		return s.Name + " with a here-document is not taken: write it into a file of the tree"
	case s.Name == "COPY":
		if why := r.copies(stage, s); why != "" {
			return why
		}
	case len(s.Flags) > 0:
		return fmt.Sprintf("%s %s is not taken", s.Name, s.Flags[0])
	case s.Rest == "":
		return s.Name + " says nothing"
	}
	stage.steps = append(stage.steps, s)
	return ""
}

// copies looks where COPY takes from: the folder, or an earlier stage.
func (r *reading) copies(stage *Stage, s container.Step) string {
	if _, list := words(s.Rest); !list && len(strings.Fields(s.Rest)) < 2 {
		return "COPY is followed by what is copied, and where to"
	}
	for _, flag := range s.Flags {
		key, value, _ := strings.Cut(flag, "=")
		if key == "--link" && value == "" {
			continue // how it is made, and not what
		}
		if key != "--from" {
			return fmt.Sprintf("COPY %s is not taken: everything belongs to root, and only the executable bit is kept", flag)
		}
		at, ok := r.names[strings.ToLower(value)]
		if n, err := strconv.Atoi(value); !ok && err == nil {
			at, ok = n, n >= 0
		}
		if !ok || at >= len(r.Stages)-1 {
			return fmt.Sprintf("COPY %s is not taken: %q is no earlier stage of this file; write FROM %s AS a stage before", flag, value, value)
		}
		stage.from[s.Line] = at
	}
	return ""
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
