package observe

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
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

// In reports whether the secret stands in a text.
func (s Secret) In(text []byte) bool { return stands(s.forms(), text) }

func stands(forms [][]byte, text []byte) bool {
	return slices.ContainsFunc(forms, func(form []byte) bool { return bytes.Contains(text, form) })
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

// Search looks for secrets in every regular file below these folders.
func Search(secrets []Secret, folders ...string) ([]invariant.Canary, error) {
	s := search{secrets: secrets, found: make([][]string, len(secrets))}
	for _, secret := range secrets {
		s.forms = append(s.forms, secret.forms())
	}
	for _, dir := range folders {
		if err := s.folder(dir); err != nil {
			return nil, err
		}
	}
	var all []invariant.Canary
	for i, secret := range secrets {
		all = append(all, invariant.Canary{Name: secret.Name, Found: s.found[i]})
	}
	return all, nil
}

type search struct {
	secrets []Secret
	forms   [][][]byte // of each
	found   [][]string // of each: the files
}

func (s search) folder(dir string) (err error) {
	if len(s.secrets) == 0 {
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
		text, err := root.ReadFile(path)
		if err != nil {
			return gone(err)
		}
		s.file(filepath.Join(dir, path), text)
		return nil
	})
}

func (s search) file(path string, text []byte) {
	for i, secret := range s.secrets {
		home := slices.ContainsFunc(secret.Homes, func(home string) bool { return path == home || path == disk.Staged(home) })
		if !home && stands(s.forms[i], text) {
			s.found[i] = append(s.found[i], path)
		}
	}
}

// gone lets be what was removed while it was looked for.
func gone(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}
