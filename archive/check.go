package archive

import (
	"path"
	"strings"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

// emptyDigest is the digest of no bytes: what an empty file must have.
const emptyDigest document.Digest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// Check is nil where the index obeys every law of an archive, and otherwise
// names the first entry that does not.
func (idx Index) Check() error {
	if idx.Format != Format {
		return fault.New(fault.Invalid, "format %d: this program reads format %d", idx.Format, Format)
	}
	if len(idx.Entries) == 0 {
		return fault.New(fault.Invalid, "an archive of nothing").
			With("an archive holds at least one file, directory or link")
	}
	if len(idx.Entries) > MaxEntries {
		return fault.New(fault.Invalid, "%d entries, at most %d are read", len(idx.Entries), MaxEntries)
	}
	if err := idx.checkEntries(); err != nil {
		return err
	}
	return idx.checkLinks()
}

// checkEntries looks at each entry by itself and beside the ones before it.
// Its parent stands before it, as a directory: so no path leads through a link.
func (idx Index) checkEntries() error {
	directories := map[string]bool{".": true}
	twins := make(map[string]string, len(idx.Entries))
	var total int64
	for i := range idx.Entries {
		e := &idx.Entries[i]
		if err := e.check(); err != nil {
			return fault.Add(err, "entry %q", document.Short(e.Path))
		}
		if i > 0 && e.Path <= idx.Entries[i-1].Path {
			return fault.New(fault.Invalid, "entry %q stands after %q: entries are sorted by path, each once", document.Short(e.Path), document.Short(idx.Entries[i-1].Path))
		}
		if parent := path.Dir(e.Path); !directories[parent] {
			return fault.New(fault.Invalid, "entry %q is in %q, which is no directory of the archive", document.Short(e.Path), document.Short(parent))
		}
		if e.Kind == Directory {
			directories[e.Path] = true
		}
		folded := fold(e.Path)
		if twin, ok := twins[folded]; ok {
			return sameName(twin, e.Path)
		}
		twins[folded] = e.Path
		if total += e.Size; total > MaxSize {
			return fault.New(fault.Invalid, "entry %q: the files together are larger than %d bytes", document.Short(e.Path), int64(MaxSize))
		}
	}
	return nil
}

// sameName refuses two paths that are one file on some file systems. They are
// shown in ASCII: two spellings of one letter look alike.
func sameName(a, b string) error {
	return fault.New(fault.Invalid, "%+q and %+q differ only in upper and lower case, or in how a letter is composed", document.Short(a), document.Short(b)).
		With("rename one of the two: on some file systems they are the same file")
}

// check looks at an entry by itself.
func (e *Entry) check() error {
	if err := checkPath(e.Path); err != nil {
		return err
	}
	switch e.Kind {
	case File:
		return e.checkFile()
	case Directory:
		if e.Executable || e.Size != 0 || e.Digest != "" || e.Target != "" {
			return fault.New(fault.Invalid, "a directory has a path and a kind, nothing else")
		}
		return nil
	case Link:
		if e.Executable || e.Size != 0 || e.Digest != "" {
			return fault.New(fault.Invalid, "a link has a path, a kind and a target, nothing else")
		}
		return checkTarget(e.Target)
	}
	return fault.New(fault.Invalid, "kind %q: want file, directory or link", document.Short(string(e.Kind)))
}

func (e *Entry) checkFile() error {
	switch {
	case e.Target != "":
		return fault.New(fault.Invalid, "a file has no target")
	case e.Size < 0 || e.Size > MaxSize:
		return fault.New(fault.Invalid, "size %d: want 0 to %d", e.Size, int64(MaxSize))
	case !e.Digest.Valid():
		return fault.New(fault.Invalid, "digest %q: want sha256: and 64 lower-case hexadecimal digits", document.Short(string(e.Digest)))
	case e.Size == 0 && e.Digest != emptyDigest:
		return fault.New(fault.Invalid, "the digest of an empty file is %s", emptyDigest)
	}
	return nil
}

// checkPath is nil for a path that means the same entry below any folder.
func checkPath(p string) error {
	switch {
	case p == "":
		return fault.New(fault.Invalid, "no path")
	case len(p) > MaxPath:
		return fault.New(fault.Invalid, "the path has %d bytes, at most %d are taken", len(p), MaxPath)
	case p[0] == '/':
		return fault.New(fault.Invalid, "the path is absolute: want one relative to the folder")
	}
	if err := checkText(p); err != nil {
		return err
	}
	depth := 0
	for name := range strings.SplitSeq(p, "/") {
		switch {
		case name == "" || name == "." || name == "..":
			return fault.New(fault.Invalid, "the path is not clean: it has the element %q", document.Short(name))
		case strings.HasPrefix(name, ".wh."):
			return fault.New(fault.Invalid, "a name begins with .wh., which container tools take for the removal of another").
				With("rename it")
		case len(name) > MaxName:
			return fault.New(fault.Invalid, "a name has %d bytes, at most %d are taken", len(name), MaxName)
		}
		if depth++; depth > MaxDepth {
			return fault.New(fault.Invalid, "the path has more than %d elements", MaxDepth)
		}
	}
	return nil
}
