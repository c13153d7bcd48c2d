package rust

import (
	"maps"
	"slices"
)

// Published is what an index of crates says of one version, as its own Cargo.toml has it.
type Published struct {
	Name, Version string
	Links         string // what library of the system it stands for
	Rust          string // the oldest Rust that it is for
	Needs         []Need
	Features      map[string][]string
}

// Need is one crate that another one asks for.
type Need struct {
	Name     string // as it is called in the code
	Package  string // as it is called in the index, where that is another name
	Version  string
	Kind     string // normal, dev or build
	Target   string // on which platforms; empty on all
	Optional bool
	Defaults bool // with its default features
	Features []string
}

// DecodePublished reads the Cargo.toml of a crate as cargo publishes it.
func DecodePublished(text string) (Published, error) {
	root, err := decodeTOML(text)
	if err != nil {
		return Published{}, err
	}
	p := Published{
		Name: root.said("package", "name"), Version: root.said("package", "version"), Features: map[string][]string{},
		Links: root.said("package", "links"), Rust: root.said("package", "rust-version"),
	}
	if all := root.at("features"); all != nil {
		for _, name := range all.keys {
			p.Features[name] = all.table[name].texts()
		}
	}
	p.Needs = needs(root, "")
	if all := root.at("target"); all != nil {
		for _, target := range slices.Sorted(maps.Keys(all.table)) {
			p.Needs = append(p.Needs, needs(all.table[target], target)...)
		}
	}
	return p, nil
}

// needs is what a table of a manifest asks for, in all three ways.
func needs(in *value, target string) (all []Need) {
	for _, way := range [][3]string{{"normal", "dependencies"}, {"build", "build-dependencies", "build_dependencies"}, {"dev", "dev-dependencies", "dev_dependencies"}} {
		for _, key := range way[1:] {
			said := in.at(key)
			if said == nil {
				continue
			}
			for _, name := range slices.Sorted(maps.Keys(said.table)) {
				all = append(all, need(name, way[0], target, said.table[name]))
			}
		}
	}
	return all
}

func need(name, kind, target string, v *value) Need {
	n := Need{Name: name, Kind: kind, Target: target, Version: v.text, Defaults: true, Package: v.said("package")}
	if v.table == nil {
		return n
	}
	n.Version = v.said("version")
	n.Optional = v.said("optional") == "true"
	n.Defaults = v.said("default-features") != "false" && v.said("default_features") != "false"
	n.Features = v.at("features").texts()
	return n
}

// texts are those of a list.
func (v *value) texts() []string {
	all := []string{}
	if v == nil {
		return all
	}
	for _, one := range v.list {
		all = append(all, one.text)
	}
	return all
}
