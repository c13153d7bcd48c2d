package recipe

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"noxmesh/delivery/imports/container"
	"noxmesh/internal/fault"
)

// State is what a stage says of its image so far.
type State struct {
	recipe *Recipe
	args   map[string]string
	cmd    bool // said in this stage
	says   says
}

// says is the part of an image's configuration that a container file says.
type says struct {
	User         string              `json:"User"`
	ExposedPorts map[string]struct{} `json:"ExposedPorts"`
	Env          []string            `json:"Env"`
	Entrypoint   []string            `json:"Entrypoint"`
	Cmd          []string            `json:"Cmd"`
	Volumes      map[string]struct{} `json:"Volumes"`
	WorkingDir   string              `json:"WorkingDir"`
	Labels       map[string]string   `json:"Labels"`
	StopSignal   string              `json:"StopSignal"`
	Shell        []string            `json:"Shell"`
	Healthcheck  *health             `json:"Healthcheck"`
	OnBuild      []string            `json:"OnBuild"`
}

// Act is something that is done to a stage's files.
type Act struct {
	Line    int
	Words   []string // of a command; of COPY and ADD, what is copied
	From    int      // of COPY: a stage, or the folder where it is negative
	To      string   // of COPY, where to; of a folder, which; of a command, where it runs
	Into    bool     // of COPY: to is a folder
	Unpack  bool     // ADD: what is an archive is unpacked
	Whose   string   // of COPY and ADD, USER or USER:GROUP; empty for root
	Env     [][2]string
	Command bool
}

// Begin is the state of a stage on an image with this configuration; nil is of nothing.
func (r *Recipe) Begin(config []byte) (*State, error) {
	s := &State{recipe: r}
	var whole struct{ Config says }
	if config != nil {
		if err := json.Unmarshal(config, &whole); err != nil {
			return nil, fault.Wrap(fault.Invalid, err, "read the configuration of an image")
		}
	}
	s.says = whole.Config
	if len(s.says.OnBuild) > 0 {
		return nil, fault.New(fault.Invalid, "%s: the image that it stands on has something done by who stands on it (ONBUILD %s), which is not taken", r.Path, s.says.OnBuild[0])
	}
	return s, nil
}

// On is the state of a stage on another.
func (s *State) On() *State {
	on := *s
	on.args, on.cmd = nil, false
	on.says.ExposedPorts, on.says.Volumes, on.says.Labels = maps.Clone(s.says.ExposedPorts), maps.Clone(s.says.Volumes), maps.Clone(s.says.Labels)
	on.says.Env = slices.Clone(s.says.Env)
	return &on
}

// Carry carries out a stage: what it says is said, and what it does is done by do.
func (s *State) Carry(at int, do func(Act) error) error {
	stage := s.recipe.Stages[at]
	s.args = map[string]string{}
	for _, step := range stage.steps {
		act, err := s.step(stage, step)
		if err == nil && act != nil {
			act.Line = step.Line
			err = do(*act)
		}
		if err != nil {
			return fault.Add(err, "%s:%d: %s", s.recipe.Path, step.Line, step.Name)
		}
	}
	return nil
}

func (s *State) value(name string) (string, bool) {
	for _, e := range slices.Backward(s.says.Env) {
		if key, value, _ := strings.Cut(e, "="); key == name {
			return value, true
		}
	}
	value, ok := s.args[name]
	return value, ok
}

func (s *State) fill(text string) (string, error) {
	value, err := s.recipe.file.Fill(text, s.value)
	if err != nil {
		return "", fault.New(fault.Invalid, "%v", err)
	}
	return value, nil
}

func (s *State) step(stage Stage, step container.Step) (*Act, error) {
	switch step.Name {
	case "RUN":
		return s.command(step)
	case "COPY", "ADD":
		return s.copied(stage, step)
	case "HEALTHCHECK":
		h, err := readHealth(step)
		if err != nil {
			return nil, fault.Wrap(fault.Invalid, err, "")
		}
		s.says.Healthcheck = h
		return nil, nil //nolint:nilnil // nothing is to be done
	case "CMD":
		s.cmd, s.says.Cmd = true, s.argv(step.Rest)
		return nil, nil //nolint:nilnil // nothing is to be done
	case "ENTRYPOINT":
		if s.says.Entrypoint = s.argv(step.Rest); !s.cmd {
			s.says.Cmd = nil
		}
		return nil, nil //nolint:nilnil // likewise
	case "SHELL":
		all, ok := words(step.Rest)
		if !ok || len(all) == 0 {
			return nil, fault.New(fault.Invalid, `want a list, as ["/bin/sh", "-c"]`)
		}
		s.says.Shell = all
		return nil, nil //nolint:nilnil // likewise
	case "ARG", "ENV", "LABEL":
		return nil, s.pairs(step)
	}
	text, err := s.fill(step.Rest)
	if err != nil {
		return nil, err
	}
	if step.Name == "WORKDIR" {
		s.says.WorkingDir = s.below(text)
		return &Act{To: s.says.WorkingDir}, nil
	}
	s.told(step, text)
	return nil, nil //nolint:nilnil // likewise
}

// told takes what an instruction says of the image, with its variables filled in.
func (s *State) told(step container.Step, text string) {
	switch step.Name {
	case "USER":
		s.says.User = text
	case "STOPSIGNAL":
		s.says.StopSignal = text
	case "EXPOSE":
		for _, port := range strings.Fields(text) {
			if !strings.Contains(port, "/") {
				port += "/tcp"
			}
			s.says.ExposedPorts = with(s.says.ExposedPorts, port)
		}
	case "VOLUME":
		all, list := words(step.Rest)
		if !list {
			all = strings.Fields(text)
		}
		for _, volume := range all {
			s.says.Volumes = with(s.says.Volumes, volume)
		}
	}
}

func with(all map[string]struct{}, key string) map[string]struct{} {
	if all == nil {
		all = map[string]struct{}{}
	}
	all[key] = struct{}{}
	return all
}

func (s *State) below(dir string) string {
	if !path.IsAbs(dir) {
		dir = path.Join("/", s.says.WorkingDir, dir)
	}
	return path.Clean(dir)
}

// argv is a list of words, or what the shell makes of a text.
func (s *State) argv(text string) []string {
	if all, ok := words(text); ok {
		return all
	}
	shell := s.says.Shell
	if len(shell) == 0 {
		shell = []string{"/bin/sh", "-c"}
	}
	return append(slices.Clone(shell), text)
}

func (s *State) command(step container.Step) (*Act, error) {
	if user, _, _ := strings.Cut(s.says.User, ":"); user != "" && user != "root" && user != "0" {
		return nil, fault.New(fault.Invalid, "it would run as %q, and a build has one user, who is root inside: write RUN before USER", user)
	}
	a := &Act{Command: true, Words: s.argv(step.Rest), To: s.below(s.says.WorkingDir)}
	for _, name := range slices.Sorted(maps.Keys(s.args)) {
		a.Env = append(a.Env, [2]string{name, s.args[name]})
	}
	for _, e := range s.says.Env {
		name, value, _ := strings.Cut(e, "=")
		a.Env = append(a.Env, [2]string{name, value})
	}
	return a, nil
}

func (s *State) copied(stage Stage, step container.Step) (*Act, error) {
	all, list := words(step.Rest)
	if !list {
		all = s.recipe.file.Words(step.Rest)
	}
	for i := range all {
		var err error
		if all[i], err = s.fill(all[i]); err != nil {
			return nil, err
		}
	}
	if len(all) < 2 {
		return nil, fault.New(fault.Invalid, "it is followed by what is copied, and where to")
	}
	to := all[len(all)-1]
	for _, from := range all[:len(all)-1] {
		if why := fetches(from); step.Name == "ADD" && why != "" {
			return nil, fault.New(fault.Invalid, "%s", why)
		}
	}
	a := &Act{Words: all[:len(all)-1], From: -1, Unpack: step.Name == "ADD", To: s.below(to), Into: strings.HasSuffix(to, "/") || to == "." || len(all) > 2}
	if from, ok := stage.from[step.Line]; ok {
		a.From = from
	}
	return a, s.whose(a, step)
}

// whose fills in whose a copy is in the image.
func (s *State) whose(a *Act, step container.Step) (err error) {
	for _, flag := range step.Flags {
		who, is := strings.CutPrefix(flag, "--chown=")
		if !is {
			continue
		}
		if a.Whose, err = s.fill(who); err == nil && (a.Whose == "" || strings.HasPrefix(a.Whose, ":") || strings.HasSuffix(a.Whose, ":") || strings.Count(a.Whose, ":") > 1) {
			err = fault.New(fault.Invalid, "--chown=%s is nobody: want USER or USER:GROUP", a.Whose)
		}
	}
	return err
}

// pairs is what ARG, ENV and LABEL say. ENV and LABEL have an old form too, for one.
func (s *State) pairs(step container.Step) error {
	all := s.recipe.file.Words(step.Rest)
	if step.Name != "ARG" && len(all) > 0 && !strings.Contains(all[0], "=") {
		key, value, _ := strings.Cut(step.Rest, " ")
		all = []string{key + "=" + strings.TrimSpace(value)}
	}
	for _, pair := range all {
		key, value, has := strings.Cut(pair, "=")
		key, err := s.fill(key)
		if err == nil {
			value, err = s.fill(value)
		}
		if err != nil {
			return err
		}
		if err := s.say(step.Name, key, value, has); err != nil {
			return err
		}
	}
	return nil
}

func (s *State) say(name, key, value string, has bool) error {
	if key == "" || strings.ContainsRune(key+value, 0) {
		return fault.New(fault.Invalid, "%q is no name", key)
	}
	switch name {
	case "ARG":
		if !has {
			value, has = s.recipe.file.Global[key]
		}
		if has {
			s.args[key] = value
		}
	case "ENV":
		s.says.Env = slices.DeleteFunc(s.says.Env, func(e string) bool { return strings.HasPrefix(e, key+"=") })
		s.says.Env = append(s.says.Env, key+"="+value)
	case "LABEL":
		if s.says.Labels == nil {
			s.says.Labels = map[string]string{}
		}
		s.says.Labels[key] = value
	}
	return nil
}

// Says is what takes the place of what the image below says; nil where nothing does.
func (s *State) Says() (map[string]json.RawMessage, error) {
	text, err := json.Marshal(s.says)
	all := map[string]json.RawMessage{}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, fault.Wrap(fault.Broken, err, "write what an image says")
	}
	for key, value := range all {
		if v := string(value); v == "null" || v == `""` || v == "{}" || v == "[]" {
			all[key] = nil
		}
	}
	return all, nil
}

// String is the act for people.
func (a Act) String() string {
	switch {
	case a.Command:
		return strings.Join(a.Words, " ")
	case a.Unpack:
		return fmt.Sprintf("add %s to %s", strings.Join(a.Words, " "), a.To)
	case len(a.Words) > 0:
		return fmt.Sprintf("copy %s to %s", strings.Join(a.Words, " "), a.To)
	}
	return "folder " + a.To
}
