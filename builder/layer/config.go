package layer

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

// Says is what an image says of itself beside its layers.
type Says struct {
	Platform string            // linux/amd64
	Base     []byte            // the configuration of what it stands on; nil: of nothing
	Command  []string          // what it runs; nil: what its base does
	Env      map[string]string // beside its base's

	// Instead takes the place of what its base says under these keys; nil takes it away.
	Instead map[string]json.RawMessage
}

// config is an image's configuration, as others read it.
type config struct {
	Created      string                     `json:"created"`
	OS           string                     `json:"os"`
	Architecture string                     `json:"architecture"`
	Variant      string                     `json:"variant,omitempty"`
	Config       map[string]json.RawMessage `json:"config"`
	RootFS       rootfs                     `json:"rootfs"`
}

type rootfs struct {
	Type    string            `json:"type"`
	DiffIDs []document.Digest `json:"diff_ids"`
}

// Config is the configuration of an image with these layers, the lowest first.
func Config(s Says, layers []Layer) ([]byte, error) {
	var c config
	if s.Base != nil {
		if err := json.Unmarshal(s.Base, &c); err != nil {
			return nil, fault.Wrap(fault.Invalid, err, "read the configuration of the base")
		}
	}
	system, machine, _ := strings.Cut(s.Platform, "/")
	c.Created, c.OS, c.Architecture = "1980-01-01T00:00:00Z", system, machine
	if c.Config == nil {
		c.Config = map[string]json.RawMessage{}
	}
	if err := s.over(c.Config); err != nil {
		return nil, err
	}
	c.RootFS = rootfs{Type: "layers"}
	for _, l := range layers {
		c.RootFS.DiffIDs = append(c.RootFS.DiffIDs, l.Plain)
	}
	plain, err := json.Marshal(c)
	if err != nil {
		return nil, fault.Wrap(fault.Broken, err, "write the configuration of an image")
	}
	var whole any
	if err := json.Unmarshal(plain, &whole); err != nil {
		return nil, fault.Wrap(fault.Broken, err, "write the configuration of an image")
	}
	return document.Canonical(whole)
}

// over puts what the image says over what its base does. Its command is all that
// it runs: a program that the base would start around it is none of its own.
func (s Says) over(base map[string]json.RawMessage) error {
	set := func(key string, v any) error {
		text, err := json.Marshal(v)
		base[key] = text
		return err
	}
	for key, value := range s.Instead {
		if base[key] = value; value == nil {
			delete(base, key)
		}
	}
	if s.Command != nil {
		delete(base, "Cmd")
		if err := set("Entrypoint", s.Command); err != nil {
			return err
		}
	}
	if len(s.Env) == 0 {
		return nil
	}
	var all []string
	if was := base["Env"]; was != nil {
		if err := json.Unmarshal(was, &all); err != nil {
			return fault.Wrap(fault.Invalid, err, "read the variables of the base")
		}
	}
	all = slices.DeleteFunc(all, func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		_, anew := s.Env[name]
		return anew
	})
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		all = append(all, name+"="+s.Env[name])
	}
	return set("Env", all)
}
