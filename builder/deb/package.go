package deb

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/md5" //nolint:gosec // dpkg reads no other; a package's identity is its SHA-256
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"noxmesh/archive"
	"noxmesh/document"
	"noxmesh/internal/fault"
)

// Media is the media type of a package.
const Media = "application/vnd.debian.binary-package"

// date is every time in a package: 1980, as commands in a build are told.
const date = 315532800

// level is how hard is compressed. Another one gives other bytes.
const level = 6

// scripts is the folder that others keep a package's own scripts in.
const scripts = "DEBIAN"

// Package is what a package says of itself.
type Package struct {
	Name         string
	Version      string
	Architecture string   // as Debian calls it
	Depends      []string // each as "libc6 (>= 2.36)"
	Module       string   // that it is of
	Summary      string   // one line; may be empty

	Scripts map[string]string // what dpkg runs, by postinst, prerm and so on; what a folder is packed of has none
}

// Written is a package's identity and size.
type Written struct {
	Digest document.Digest
	Size   int64
	Files  int
}

// Architecture is what Debian calls what a platform such as linux/amd64 runs on.
func Architecture(platform string) string {
	_, machine, _ := strings.Cut(platform, "/")
	if called, other := map[string]string{"386": "i386", "arm": "armhf", "ppc64le": "ppc64el", "mips64le": "mips64el"}[machine]; other {
		return called
	}
	return machine
}

// FileName is what the package's file is called; an epoch has no part in it.
func (p Package) FileName() string {
	version := p.Version
	if _, after, has := strings.Cut(version, ":"); has {
		version = after
	}
	return p.Name + "_" + version + "_" + p.Architecture + ".deb"
}

// Write writes everything below root to out as a package. Scratch is an empty
// file for what has to be known before it stands in out.
func (p Package) Write(ctx context.Context, root *os.Root, scratch, out *os.File) (Written, error) {
	entries, err := archive.List(ctx, root)
	if err != nil {
		return Written{}, err
	}
	d, err := writeData(ctx, root, entries, scratch)
	if err != nil {
		return Written{}, err
	}
	control, err := p.control(d)
	if err != nil {
		return Written{}, err
	}
	size, err := scratch.Seek(0, io.SeekCurrent)
	if err != nil {
		return Written{}, err
	}
	if _, err := scratch.Seek(0, io.SeekStart); err != nil {
		return Written{}, err
	}
	sum := sha256.New()
	w := &counted{w: io.MultiWriter(out, sum)}
	if _, err := io.WriteString(w, "!<arch>\n"); err != nil {
		return Written{}, err
	}
	for _, m := range []struct {
		name string
		size int64
		from io.Reader
	}{
		{"debian-binary", 4, strings.NewReader("2.0\n")},
		{"control.tar.gz", int64(len(control)), bytes.NewReader(control)},
		{"data.tar.gz", size, scratch},
	} {
		if err := member(w, m.name, m.size, m.from); err != nil {
			return Written{}, err
		}
	}
	return Written{document.FromHash(sum.Sum(nil)), w.n, len(entries)}, nil
}

// member writes one member of the outer archive: its header in 60 columns, its
// bytes, and one more where they are odd.
func member(w io.Writer, name string, size int64, from io.Reader) error {
	if _, err := fmt.Fprintf(w, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", name, date, 0, 0, "100644", size); err != nil {
		return err
	}
	if _, err := io.CopyN(w, from, size); err != nil {
		return err
	}
	if size%2 == 1 {
		_, err := io.WriteString(w, "\n")
		return err
	}
	return nil
}

type counted struct {
	w io.Writer
	n int64
}

// Write passes p on.
func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// data is what the folder comes to: what dpkg is told of it.
type data struct {
	sums, conffiles bytes.Buffer
	size            int64 // KiB, as Debian counts
}

// writeData writes the folder as a tar in which every name begins at the root.
func writeData(ctx context.Context, root *os.Root, entries []archive.Entry, to io.Writer) (*data, error) {
	d := &data{}
	z, t, err := tarTo(to)
	if err != nil {
		return nil, err
	}
	if err := t.WriteHeader(header("./", tar.TypeDir, 0o755, 0)); err != nil {
		return nil, err
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if e.Path == scripts {
			return nil, fault.New(fault.Invalid, "there is a folder %q in what is packed: this version puts no scripts of its own into a package", scripts).
				With("remove it from the folder; what the package says of itself stands in module.json")
		}
		if err := d.add(root, e, t); err != nil {
			return nil, fault.Wrap(fault.Unknown, err, "pack %q", e.Path)
		}
	}
	return d, closeBoth(t, z)
}

func (d *data) add(root *os.Root, e archive.Entry, t *tar.Writer) error {
	switch e.Kind {
	case archive.Directory:
		d.size++
		return t.WriteHeader(header("./"+e.Path+"/", tar.TypeDir, 0o755, 0))
	case archive.Link:
		d.size++
		h := header("./"+e.Path, tar.TypeSymlink, 0o777, 0)
		h.Linkname = e.Target
		return t.WriteHeader(h)
	case archive.File:
	}
	if strings.ContainsAny(e.Path, "\n\\") {
		return fault.New(fault.Invalid, "no package holds such a name")
	}
	mode := int64(0o644)
	if e.Executable {
		mode = 0o755
	}
	d.size += (e.Size + 1023) >> 10
	if err := t.WriteHeader(header("./"+e.Path, tar.TypeReg, mode, e.Size)); err != nil {
		return err
	}
	f, err := root.Open(e.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := md5.New() //nolint:gosec // as above
	if _, err := io.Copy(io.MultiWriter(t, sum), f); err != nil {
		return err
	}
	fmt.Fprintf(&d.sums, "%s  %s\n", hex.EncodeToString(sum.Sum(nil)), e.Path)
	if strings.HasPrefix(e.Path, "etc/") {
		d.conffiles.WriteString(path.Join("/", e.Path) + "\n")
	}
	return nil
}

func tarTo(to io.Writer) (*gzip.Writer, *tar.Writer, error) {
	z, err := gzip.NewWriterLevel(to, level)
	if err != nil {
		return nil, nil, err
	}
	return z, tar.NewWriter(z), nil
}

func closeBoth(t *tar.Writer, z *gzip.Writer) error {
	if err := t.Close(); err != nil {
		return err
	}
	return z.Close()
}

// header is one entry. dpkg reads no headers of POSIX.1-2001.
func header(name string, kind byte, mode, size int64) *tar.Header {
	return &tar.Header{
		Typeflag: kind, Name: name, Mode: mode, Size: size, ModTime: time.Unix(date, 0), Uname: "root", Gname: "root", Format: tar.FormatGNU,
	}
}

// told is a file that dpkg keeps of the package, and does not put on the machine.
type told struct {
	name string
	text []byte
	mode int64
}

// control is the archive of what the package says of itself.
func (p Package) control(d *data) ([]byte, error) {
	var out bytes.Buffer
	z, t, err := tarTo(&out)
	if err != nil {
		return nil, err
	}
	if err := t.WriteHeader(header("./", tar.TypeDir, 0o755, 0)); err != nil {
		return nil, err
	}
	all := []told{{"conffiles", d.conffiles.Bytes(), 0o644}, {"control", []byte(p.fields(d.size)), 0o644}, {"md5sums", d.sums.Bytes(), 0o644}}
	for _, name := range slices.Sorted(maps.Keys(p.Scripts)) {
		all = append(all, told{name, []byte(p.Scripts[name]), 0o755})
	}
	for _, f := range all {
		if len(f.text) == 0 {
			continue
		}
		if err := t.WriteHeader(header("./"+f.name, tar.TypeReg, f.mode, int64(len(f.text)))); err != nil {
			return nil, err
		}
		if _, err := t.Write(f.text); err != nil {
			return nil, err
		}
	}
	if err := closeBoth(t, z); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func (p Package) fields(size int64) string {
	summary := p.Summary
	if summary == "" {
		summary = "of the module " + p.Module
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Package: %s\nVersion: %s\nArchitecture: %s\nMaintainer: module %s\nInstalled-Size: %d\n", p.Name, p.Version, p.Architecture, p.Module, size)
	if len(p.Depends) > 0 {
		fmt.Fprintf(&b, "Depends: %s\n", strings.Join(p.Depends, ", "))
	}
	fmt.Fprintf(&b, "Section: misc\nPriority: optional\nDescription: %s\n", summary)
	return b.String()
}
