package plan

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	mesh "noxmesh"
	"noxmesh/declaration"
	"noxmesh/delivery/artifact"
	"noxmesh/document"
	"noxmesh/image"
	"noxmesh/manifest"
)

// worked is one module on this node: its resources filled, and all that it claims.
type worked struct {
	module    string
	build     *artifact.Build
	resources []declaration.Resource
	claims    []string // beside its paths
	sealed    map[string]Sealed
	where     declaration.Where
}

// values is what a module's templates may name, or why that is not known.
type values struct {
	of  map[string]string
	why string
}

func (c *compiler) values(module string, m manifest.Built) values {
	v := values{of: map[string]string{"node.id": c.facts.Node.ID, "node.name": c.facts.Node.Name}}
	chosen := c.settings[module]
	for _, name := range slices.Sorted(maps.Keys(chosen)) {
		if _, ok := m.Settings[name]; !ok {
			v.why = fmt.Sprintf("the assignment sets %q, which the module does not have", name)
			return v
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Settings)) {
		text, why := m.Settings[name].Value(chosen[name])
		if why != "" {
			v.why = fmt.Sprintf("setting %q %s", name, why)
			return v
		}
		v.of["settings."+name] = text
	}
	return v
}

// work fills the module's claims and resources with these values, or says why it cannot.
func (w *worked) work(v values) string {
	if v.why != "" {
		return v.why
	}
	for _, claim := range w.build.Manifest.Claims {
		filled, err := manifest.Fill(claim, v.of)
		if err != nil {
			return fmt.Sprintf("claim %q: %s", claim, err)
		}
		if why := badClaim(filled); why != "" {
			return fmt.Sprintf("claim %q: %s", claim, why)
		}
		w.claims = append(w.claims, filled)
	}
	paths := map[string]string{}
	for _, r := range w.build.Manifest.Resources {
		if why := w.resource(r, v.of); why != "" {
			return fmt.Sprintf("resource %q: %s", r.ID, why)
		}
		subject := w.resources[len(w.resources)-1].Subject()
		if other, taken := paths[subject]; taken {
			return fmt.Sprintf("resource %q: it is %s, and so is %q", r.ID, subject, other)
		}
		paths[subject] = r.ID
	}
	return w.ports()
}

// ports claims the ports of the machine that containers take.
func (w *worked) ports() string {
	taken := map[string]string{}
	for i := range w.resources {
		r := &w.resources[i]
		for _, claim := range r.Claims() {
			if other, is := taken[claim]; is {
				return fmt.Sprintf("resource %q: it claims %s, which %q has", r.ID, claim, other)
			}
			taken[claim] = r.ID
			if !slices.Contains(w.claims, claim) {
				w.claims = append(w.claims, claim)
			}
		}
	}
	return ""
}

// badClaim says what is wrong with a claim once it is filled: two claims of the
// same thing have to be the same text.
func badClaim(claim string) string {
	kind, rest, _ := strings.Cut(claim, ":")
	if kind == "name" {
		if !mesh.ValidModuleName(rest) {
			return fmt.Sprintf("%q is not a name", rest)
		}
		return ""
	}
	if n, err := strconv.ParseUint(rest, 10, 16); err != nil || n == 0 || strconv.FormatUint(n, 10) != rest {
		return fmt.Sprintf("%q is not a port, want a number from 1 to 65535", rest)
	}
	return ""
}

func (w *worked) resource(r manifest.BuiltResource, values map[string]string) string {
	path, err := manifest.Fill(r.Path, values)
	if err != nil {
		return err.Error()
	}
	out := declaration.Resource{ID: w.module + "/" + r.ID, Type: declaration.Type(r.Type), Path: path, Mode: mode(r)}
	for _, id := range r.After {
		out.After = append(out.After, w.module+"/"+id)
	}
	if why := traits(r, &out, values); why != "" {
		return why
	}
	why := ""
	switch {
	case out.Type == declaration.Mount && declaration.ReservedMount(path) != "":
		why = "is " + declaration.ReservedMount(path)
	case out.Type.IsFile(), path != "":
		why = document.BadPath(path)
	}
	if why != "" {
		return fmt.Sprintf("its path %q %s", path, why)
	}
	switch out.Type {
	case declaration.File:
		why = w.file(r, &out, values)
	case declaration.Link:
		why = link(r, &out, values)
	case declaration.Archive:
		why = w.archive(r, &out)
	case declaration.Container:
		why = w.container(&out)
	case declaration.Directory, declaration.Group, declaration.User, declaration.Service, declaration.Package, declaration.Sysctl, declaration.Mount, declaration.Check:
	default:
		why = fmt.Sprintf("no host knows the type %q", r.Type)
	}
	w.resources = append(w.resources, out)
	return why
}

// traits fills what the resource is beside a file.
func traits(r manifest.BuiltResource, out *declaration.Resource, values map[string]string) string {
	var err error
	out.Traits, err = r.Traits.Fill(func(_, text string) (string, error) { return manifest.Fill(text, values) })
	if err != nil {
		return err.Error()
	}
	for _, flaw := range out.Flaws(out.Type) {
		return fmt.Sprintf("its %s: %s, %s", flaw.Key, flaw.What, flaw.Want)
	}
	if len(out.Keys()) == 0 {
		out.Traits = nil
		return ""
	}
	module, _, _ := strings.Cut(out.ID, "/")
	out.RestartOn = nil
	for _, id := range r.RestartOn {
		out.RestartOn = append(out.RestartOn, module+"/"+id)
	}
	return ""
}

func (w *worked) file(r manifest.BuiltResource, out *declaration.Resource, values map[string]string) string {
	if r.Content == nil {
		if _, ok := w.build.Where.Blobs[r.Digest]; !ok {
			return "the record does not say where file " + r.Digest.Short() + " is"
		}
		out.Digest, out.Size = r.Digest, r.Size
		w.where.Blobs = put(w.where.Blobs, r.Digest, declaration.Blob{Repository: w.module, Size: r.Size})
		return ""
	}
	body, err := w.body(r, out, values)
	switch {
	case err != nil:
		return err.Error()
	case !utf8.ValidString(body):
		return "its content is not UTF-8"
	case len(body) > declaration.InlineLimit:
		return fmt.Sprintf("its content has %d bytes, at most %d stand in a manifest; put it in a file of the repository and name that with \"from\"", len(body), declaration.InlineLimit)
	}
	out.Digest, out.Size = document.Sum([]byte(body)), int64(len(body))
	w.where.Inline = put(w.where.Inline, out.Digest, body)
	return ""
}

func link(r manifest.BuiltResource, out *declaration.Resource, values map[string]string) string {
	target, err := manifest.Fill(r.Target, values)
	if err != nil {
		return err.Error()
	}
	if target == "" {
		return "it leads nowhere: its target is empty"
	}
	if why := document.BadName(target); why != "" {
		return fmt.Sprintf("its target %q %s", target, why)
	}
	out.Target = target
	return ""
}

func (w *worked) archive(r manifest.BuiltResource, out *declaration.Resource) string {
	packed, ok := w.build.Where.Archives[r.Digest]
	if !ok {
		return "the record does not say where archive " + r.Digest.Short() + " is"
	}
	out.Digest = r.Digest
	w.where.Archives = put(w.where.Archives, r.Digest, declaration.Packed{
		Repository: w.module, Index: packed.Index, IndexSize: packed.IndexSize, Blob: packed.Blob, Size: packed.Size,
	})
	return ""
}

// container says where the image of a container is, where the module has made it.
func (w *worked) container(out *declaration.Resource) string {
	of, ok := image.Parse(out.Said().Image)
	if !ok || !of.IsOwn() {
		return ""
	}
	digest := document.Digest(of.Digest)
	size, ok := w.build.Where.Blobs[digest]
	if !ok {
		return "the record does not say where image " + digest.Short() + " is"
	}
	w.where.Blobs = put(w.where.Blobs, digest, declaration.Blob{Repository: w.module, Size: size})
	return ""
}

// mode is the mode that the manifest gives, or the one that people expect.
func mode(r manifest.BuiltResource) string {
	switch {
	case r.Mode != "":
		return r.Mode
	case len(r.Secrets()) > 0:
		return "0640"
	case r.Type == string(declaration.File):
		return "0644"
	case r.Type == string(declaration.Directory):
		return "0755"
	}
	return ""
}

func put[V any](m map[document.Digest]V, k document.Digest, v V) map[document.Digest]V {
	if m == nil {
		m = map[document.Digest]V{}
	}
	m[k] = v
	return m
}
