package observe

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/internal/invariant"
)

// Registry is what can be pulled from the registry in this folder. One that is
// not there yet holds nothing.
func Registry(dir string) (invariant.Registry, error) {
	g := invariant.Registry{Blobs: map[document.Digest]invariant.Blob{}}
	v2 := filepath.Join(dir, "docker", "registry", "v2")
	blobs, err := filepath.Glob(filepath.Join(v2, "blobs", "sha256", "*", "*", "data"))
	if err != nil {
		return g, err
	}
	for _, path := range blobs {
		b, err := blob(path)
		if err != nil {
			return g, err
		}
		g.Blobs[document.Digest("sha256:"+filepath.Base(filepath.Dir(path)))] = b
	}
	// The manifests last: whatever they name was there before them.
	root := filepath.Join(v2, "repositories")
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || e.Name() != "link" || !strings.Contains(path, "/_manifests/revisions/sha256/") {
			return err
		}
		hexadecimal := filepath.Base(filepath.Dir(path))
		repository, _, _ := strings.Cut(strings.TrimPrefix(path, root+"/"), "/_manifests/")
		m, err := read(v2, repository, path, document.Digest("sha256:"+hexadecimal))
		if err != nil {
			return err
		}
		g.Manifests = append(g.Manifests, m)
		return blobsOf(v2, m, g.Blobs)
	})
	return g, err
}

// blobsOf adds the blobs of a manifest that came after the others were listed.
func blobsOf(v2 string, m invariant.Manifest, blobs map[document.Digest]invariant.Blob) error {
	for _, n := range m.Names {
		if _, ok := blobs[n.Digest]; ok {
			continue
		}
		b, err := blob(data(v2, n.Digest))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		blobs[n.Digest] = b
	}
	return nil
}

func data(v2 string, d document.Digest) string {
	return filepath.Join(v2, "blobs", "sha256", d.Hex()[:2], d.Hex(), "data")
}

func blob(path string) (invariant.Blob, error) {
	f, err := os.Open(path)
	if err != nil {
		return invariant.Blob{}, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return invariant.Blob{Size: n, Sum: document.Digest("sha256:" + hex.EncodeToString(h.Sum(nil)))}, err
}

type names struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	ArtifactType  string            `json:"artifactType,omitempty"`
	Config        descriptor        `json:"config"`
	Layers        []descriptor      `json:"layers"`
	Subject       *descriptor       `json:"subject,omitempty"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      document.Digest   `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// read reads one manifest as a puller would: by its link, then its blob, then
// the links of what it names in its own repository.
func read(v2, repository, path string, d document.Digest) (invariant.Manifest, error) {
	m := invariant.Manifest{Repository: repository, Digest: d, Encoded: d}
	says, err := os.ReadFile(path)
	if err != nil {
		return m, fault.Wrap(fault.Unavailable, err, "read a link of the registry")
	}
	if string(says) != string(d) {
		m.Unreadable = "its link says " + document.Short(string(says))
		return m, nil
	}
	text, err := os.ReadFile(data(v2, d))
	if errors.Is(err, fs.ErrNotExist) {
		m.Unreadable = "its link is there, and its blob is not"
		return m, nil
	}
	if err != nil {
		return m, fault.Wrap(fault.Unavailable, err, "read a manifest of the registry")
	}
	m.Encoded = document.Sum(text)
	v, err := document.Decode[names]("manifest", text, document.Limits{Bytes: 4 << 20, Depth: 8})
	if err != nil {
		m.Unreadable = err.Error()
		return m, nil //nolint:nilerr // said in the manifest
	}
	for _, n := range append([]descriptor{v.Config}, v.Layers...) {
		m.Names = append(m.Names, invariant.Named{Digest: n.Digest, Size: n.Size})
		link := filepath.Join(v2, "repositories", repository, "_layers", "sha256", n.Digest.Hex(), "link")
		if got, err := os.ReadFile(link); err != nil || string(got) != string(n.Digest) {
			m.Unreadable = "its repository has no link to " + string(n.Digest)
		}
	}
	return m, nil
}
