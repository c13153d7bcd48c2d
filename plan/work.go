package plan

import (
	"fmt"

	"noxmesh/declaration"
	"noxmesh/delivery/artifact"
	"noxmesh/document"
	"noxmesh/manifest"
)

// worked is one module on this node: its resources filled, and all that it claims.
type worked struct {
	module    string
	build     *artifact.Build
	resources []declaration.Resource
	claims    []string
	where     declaration.Where
}

// work fills the module's resources with these values, or says why it cannot.
func (w *worked) work(v settingValues) string {
	if v.why != "" {
		return v.why
	}
	for _, claim := range w.build.Manifest.Claims {
		filled, err := manifest.Fill(claim, v.values)
		if err != nil {
			return err.Error()
		}
		w.claims = append(w.claims, filled)
	}
	for _, r := range w.build.Manifest.Resources {
		if why := w.resource(r, v.values); why != "" {
			return fmt.Sprintf("resource %q: %s", r.ID, why)
		}
	}
	return ""
}

func (w *worked) resource(r manifest.BuiltResource, values map[string]string) string {
	path, err := manifest.Fill(r.Path, values)
	if err != nil {
		return err.Error()
	}
	out := declaration.Resource{ID: w.module + "/" + r.ID, Type: declaration.Type(r.Type), Path: path, Mode: mode(r)}
	w.claims = append(w.claims, path)
	switch out.Type {
	case declaration.File:
		if why := w.file(r, &out, values); why != "" {
			return why
		}
	case declaration.Link:
		if out.Target, err = manifest.Fill(r.Target, values); err != nil {
			return err.Error()
		}
	case declaration.Archive:
		packed, ok := w.build.Where.Archives[r.Digest]
		if !ok {
			return "the record does not say where archive " + r.Digest.Short() + " is"
		}
		out.Digest = r.Digest
		w.where.Archives = put(w.where.Archives, r.Digest, declaration.Packed{
			Repository: w.module, Index: packed.Index, IndexSize: packed.IndexSize, Blob: packed.Blob, Size: packed.Size,
		})
	case declaration.Directory:
	default:
		return fmt.Sprintf("no host knows the type %q", r.Type)
	}
	w.resources = append(w.resources, out)
	return ""
}

func (w *worked) file(r manifest.BuiltResource, out *declaration.Resource, values map[string]string) string {
	if r.Content == nil {
		out.Digest, out.Size = r.Digest, r.Size
		w.where.Blobs = put(w.where.Blobs, r.Digest, declaration.Blob{Repository: w.module, Size: r.Size})
		return ""
	}
	body, err := manifest.Fill(*r.Content, values)
	if err != nil {
		return err.Error()
	}
	if len(body) > declaration.InlineLimit {
		return fmt.Sprintf("its content has %d bytes, at most %d stand in a manifest; put it in a file of the repository and name that with \"from\"", len(body), declaration.InlineLimit)
	}
	out.Digest, out.Size = document.Sum([]byte(body)), int64(len(body))
	w.where.Inline = put(w.where.Inline, out.Digest, body)
	return ""
}

// mode is the mode that the manifest gives, or the one that people expect.
func mode(r manifest.BuiltResource) string {
	switch {
	case r.Mode != "":
		return r.Mode
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
