package plan_test

import (
	"strings"

	mesh "noxmesh"
	"noxmesh/delivery/artifact"
	"noxmesh/delivery/build"
	"noxmesh/document"
	"noxmesh/manifest"
	"noxmesh/plan"
)

const (
	meshID  = "mesh00000001"
	thisID  = "node00000001"
	otherID = "node00000002"
	host    = "https://registry.example:5000"
)

func sum(s string) document.Digest { return document.Sum([]byte(s)) }

// words is a list that is written with spaces.
func words(s string) []string { return strings.Fields(s) }

// things is a module's resources, one a line: "file ID PATH CONTENT",
// "from ID PATH BYTES", "archive ID PATH BYTES", "directory ID PATH",
// "link ID PATH TARGET".
func things(lines ...string) []manifest.BuiltResource {
	var out []manifest.BuiltResource
	for _, line := range lines {
		f := append(strings.SplitN(line, " ", 4), "")
		r := manifest.BuiltResource{ID: f[1], Type: f[0], Path: f[2]}
		switch f[0] {
		case "file":
			r.Content = &f[3]
		case "from":
			r.Type, r.Digest, r.Size = "file", sum(f[3]), int64(len(f[3]))
		case "archive":
			r.Digest = sum(f[3])
		case "link":
			r.Target = f[3]
		}
		out = append(out, r)
	}
	return out
}

// declared is a module with a build that is declared on this node.
func declared(name string, change func(*manifest.Built), resources ...string) plan.Module {
	m := manifest.Built{
		Format: manifest.Format, Module: name, Resources: things(resources...),
		Built: manifest.Provenance{Commit: strings.Repeat("c", 40), Tree: strings.Repeat("7", 40), Platform: "linux/amd64", Closure: []manifest.Input{}},
	}
	if change != nil {
		change(&m)
	}
	b := artifact.Build{Module: name, Manifest: m, Where: build.Where{Blobs: map[document.Digest]int64{}, Archives: map[document.Digest]build.Packed{}}}
	for _, r := range m.Resources {
		switch {
		case r.Type == "archive":
			b.Where.Archives[r.Digest] = build.Packed{Index: sum("index of " + string(r.Digest)), IndexSize: 1, Blob: sum("blob of " + string(r.Digest)), Size: 2}
		case r.Digest != "":
			b.Where.Blobs[r.Digest] = r.Size
		}
	}
	var err error
	if b.ID, err = m.BuildDigest(); err != nil {
		panic(err)
	}
	if b.Content, err = m.ContentDigest(); err != nil {
		panic(err)
	}
	return plan.Module{Name: name, Declared: &b}
}

// only is a module that is known by its source alone.
func only(name, requires, provides string) plan.Module {
	return plan.Module{Name: name, Source: &manifest.Source{Module: name, Requires: words(requires), Provides: manifest.OnNode(words(provides)...)}}
}

func requires(names string) func(*manifest.Built) {
	return func(b *manifest.Built) { b.Requires = words(names) }
}

func claims(all ...string) func(*manifest.Built) {
	return func(b *manifest.Built) { b.Claims = all }
}

// with does several of these.
func with(changes ...func(*manifest.Built)) func(*manifest.Built) {
	return func(b *manifest.Built) {
		for _, change := range changes {
			change(b)
		}
	}
}

func setting(name string, s manifest.Setting) func(*manifest.Built) {
	return func(b *manifest.Built) {
		if b.Settings == nil {
			b.Settings = map[string]manifest.Setting{}
		}
		b.Settings[name] = s
	}
}

func integer(n int64) manifest.Setting {
	v := manifest.IntegerValue(n)
	return manifest.Setting{Type: manifest.IntegerSetting, Default: &v}
}

// facts is this node with these modules assigned, and those that it had.
func facts(assigned, had string, modules ...plan.Module) plan.Facts {
	f := plan.Facts{Mesh: meshID, Node: mesh.Node{ID: thisID, Name: "laptop"}, Had: words(had), Modules: modules, Registry: host}
	for _, name := range words(assigned) {
		f.Assigned = append(f.Assigned, mesh.Assignment{Module: name, Node: thisID})
	}
	return f
}

func set(f plan.Facts, module string, settings map[string]string) plan.Facts {
	for i := range f.Assigned {
		if f.Assigned[i].Module == module {
			f.Assigned[i].Settings = settings
		}
	}
	return f
}
