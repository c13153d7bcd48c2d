package lock

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"

	"noxmesh/internal/fault"
)

// Form is how the bytes of a file are hashed.
type Form string

// The forms that prove what a file is.
const (
	SHA256 Form = "sha256"
	SHA384 Form = "sha384"
	SHA512 Form = "sha512"
	Zip1   Form = "h1"    // of what is in the zip of a Go module, as go.sum has it
	Mod1   Form = "h1mod" // of a go.mod, as go.sum has it
)

// Hash is what a lock file says of the bytes of a file. It is a good name for it.
type Hash struct {
	Form Form
	Sum  string // in hex
}

func (h Hash) String() string { return string(h.Form) + "-" + h.Sum }

// HashOf is a sum of this form that is written in base64, and false for what is none.
func HashOf(form Form, sum string) (Hash, bool) {
	b, err := base64.StdEncoding.Strict().DecodeString(sum)
	return Hash{form, hex.EncodeToString(b)}, err == nil && len(b) == form.size()
}

func (f Form) size() int {
	switch f {
	case SHA384:
		return sha512.Size384
	case SHA512:
		return sha512.Size
	case SHA256, Zip1, Mod1:
	}
	return sha256.Size
}

// bounds are what is read of the zip of a Go module.
type bounds struct {
	bytes int64 // packed, and again unpacked
	list  int64 // bytes of its list of files
}

// goZips is what the go command takes: no larger one.
func goZips() bounds { return bounds{500 << 20, 64 << 20} }

// Check is which of these hashes a file has, or an error that says what it has instead.
func Check(hashes []Hash, file io.ReaderAt, size int64) (Hash, error) {
	var has []string
	for _, form := range []Form{SHA512, SHA384, SHA256, Zip1, Mod1} {
		if !slices.ContainsFunc(hashes, func(h Hash) bool { return h.Form == form }) {
			continue
		}
		sum, err := form.of(file, size)
		if err != nil {
			return Hash{}, err
		}
		if h := (Hash{form, sum}); slices.Contains(hashes, h) {
			return h, nil
		}
		has = append(has, string(form)+"-"+sum)
	}
	var want []string
	for _, h := range hashes {
		want = append(want, h.String())
	}
	if len(want) > 4 {
		want = append(want[:3], fmt.Sprintf("%d others", len(want)-3))
	}
	return Hash{}, fault.New(fault.Invalid, "it has the hash %s, and the lock file says %s", strings.Join(has, ", "), strings.Join(want, " or "))
}

// of is the sum of a file in this form.
func (f Form) of(file io.ReaderAt, size int64) (string, error) {
	var to hash.Hash
	switch f {
	case SHA384:
		to = sha512.New384()
	case SHA512:
		to = sha512.New()
	case Zip1:
		return goZips().zipped(file, size)
	case SHA256, Mod1:
		to = sha256.New()
	}
	if _, err := io.Copy(to, io.NewSectionReader(file, 0, size)); err != nil {
		return "", fault.Wrap(fault.Unavailable, err, "read what was fetched")
	}
	if f != Mod1 {
		return hex.EncodeToString(to.Sum(nil)), nil
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%x  go.mod\n", to.Sum(nil)))
	return hex.EncodeToString(sum[:]), nil
}

// zipped is what go.sum has of a module: the hash of a list of its files, each
// with its own hash.
func (b bounds) zipped(file io.ReaderAt, size int64) (string, error) {
	if size > b.bytes {
		return "", fault.New(fault.Invalid, "it has %d MiB, and the zip of a Go module has at most %d", size>>20, b.bytes>>20)
	}
	list := &frugal{ReaderAt: file, left: b.list}
	z, err := zip.NewReader(list, size)
	if err != nil {
		return "", fault.Wrap(fault.Invalid, err, "it is no zip of a Go module")
	}
	list.left = 1 << 60 // what its files are is bounded below
	slices.SortFunc(z.File, func(a, b *zip.File) int { return strings.Compare(a.Name, b.Name) })
	all, left, last := sha256.New(), b.bytes, ""
	for i, f := range z.File {
		if strings.Contains(f.Name, "\n") || i > 0 && f.Name == last {
			return "", fault.New(fault.Invalid, "it is no zip of a Go module: the name %q in it", f.Name)
		}
		last = f.Name
		sum, n, err := unzipped(f, left)
		if err != nil {
			return "", err
		}
		if left -= n; left < 0 {
			return "", fault.New(fault.Invalid, "it unpacks to more than %d MiB, which no Go module has", b.bytes>>20)
		}
		_, _ = all.Write(fmt.Appendf(nil, "%x  %s\n", sum, f.Name)) // it never fails
	}
	return hex.EncodeToString(all.Sum(nil)), nil
}

func unzipped(f *zip.File, most int64) (sum []byte, n int64, err error) {
	r, err := f.Open()
	if err != nil {
		return nil, 0, fault.Wrap(fault.Invalid, err, "it is no zip of a Go module: %q in it", f.Name)
	}
	defer r.Close()
	one := sha256.New()
	if n, err = io.Copy(one, io.LimitReader(r, most+1)); err != nil {
		return nil, n, fault.Wrap(fault.Invalid, err, "it is no zip of a Go module: %q in it", f.Name)
	}
	return one.Sum(nil), n, nil
}

// frugal is a file of which only so much is read.
type frugal struct {
	io.ReaderAt
	left int64
}

var errLong = errors.New("its list of files is too long")

func (f *frugal) ReadAt(p []byte, at int64) (int, error) {
	if f.left -= int64(len(p)); f.left < 0 {
		return 0, errLong
	}
	return f.ReaderAt.ReadAt(p, at)
}

// line is each line of a file that has anything on it, with its number.
func lines(data []byte, do func(n int, line string)) {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if text := strings.TrimSpace(string(line)); text != "" {
			do(n, text)
		}
	}
}
