package observe

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"noxmesh/internal/disk"
	"noxmesh/internal/invariant"
)

// Secret is bytes that stand in plain in no file but their homes: as they are, in
// hexadecimal digits, or in base64 wherever that begins.
type Secret struct {
	Name  string
	Bytes []byte
	Homes []string // paths
}

// forms are the ways to write a secret down. In base64 it looks otherwise after
// one byte, and after two: what of it depends on its neighbours is left out.
func (s Secret) forms() [][]byte {
	all := [][]byte{s.Bytes, []byte(hex.EncodeToString(s.Bytes))}
	for before := range 3 {
		text := base64.RawStdEncoding.EncodeToString(append(make([]byte, before), s.Bytes...))
		sure := text[(before*8+5)/6 : (before+len(s.Bytes))*8/6]
		all = append(all, []byte(sure), []byte(strings.NewReplacer("+", "-", "/", "_").Replace(sure)))
	}
	return all
}

// Hunt is a search for secrets that goes on.
type Hunt struct {
	secrets []Secret
	sought  *sought
	found   [][]string // of each: where
	piece   []byte     // of the file that is read
}

// Seek begins to look for these secrets. It is for one goroutine.
func Seek(secrets []Secret) *Hunt {
	forms := make([][][]byte, len(secrets))
	for i, secret := range secrets {
		forms[i] = secret.forms()
	}
	sought := seek(forms)
	return &Hunt{secrets: secrets, sought: sought, found: make([][]string, len(secrets)), piece: make([]byte, 256<<10+sought.most)}
}

// Found is where each of them was found so far.
func (h *Hunt) Found() (all []invariant.Canary) {
	for i, secret := range h.secrets {
		all = append(all, invariant.Canary{Name: secret.Name, Found: h.found[i]})
	}
	return all
}

// Text looks for them in what stands at a place, or in a piece of it.
func (h *Hunt) Text(place string, text []byte) {
	for _, i := range h.sought.in(text) {
		home := slices.ContainsFunc(h.secrets[i].Homes, func(home string) bool { return place == home || place == disk.Staged(home) })
		if !home && !slices.Contains(h.found[i], place) {
			h.found[i] = append(h.found[i], place)
		}
	}
}

// Folder looks for them in every regular file below a folder; one that is not there holds none.
func (h *Hunt) Folder(dir string) (err error) {
	if len(h.secrets) == 0 {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return gone(err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	return fs.WalkDir(root.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return gone(err)
		}
		return gone(h.read(root, dir, path))
	})
}

// read looks for them in a file, a piece at a time; of each piece so much comes
// again with the next as what stands on the border needs.
func (h *Hunt) read(root *os.Root, dir, path string) (err error) {
	f, err := root.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for kept := 0; ; {
		n, err := f.Read(h.piece[kept:])
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		text := h.piece[:kept+n]
		h.Text(filepath.Join(dir, path), text)
		kept = copy(h.piece, text[max(0, len(text)-h.sought.most+1):])
	}
}

// gone lets be what was removed while it was looked for.
func gone(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}
