package imports

import (
	"fmt"
	slashpath "path"
	"strings"
	"unicode/utf8"
)

// Reading is what the code of one module's folder says.
type Reading struct {
	Key  string // of the files that were read, and of the readers; one key is one reading
	Says Said   // in those languages of which there is anything
}

// version goes up when the readers find something else in the same files.
const version = 4

// Key is the key of a reading. Files is the key of the files, or empty for the
// beginning that all keys of this folder have.
func Key(platform, folder, files string) string {
	return fmt.Sprintf("%d %s %q %s", version, platform, folder, files)
}

// FileLimit is the largest file that is read, in bytes. Of a larger one a
// language may read the beginning; see Opening.
const FileLimit = 4 << 20

// Opening is a language in which some files say at their beginning all that is
// asked for. One that is larger than FileLimit is given to Read with that much,
// and a byte more: whether it says all is for Read to tell.
type Opening interface {
	// Opens reports whether a file is of those, by its path.
	Opens(path string) bool
}

// manifestName is the file that makes a folder another module's.
const manifestName = "module.json"

// Wants reports whether any of the languages, or Read itself, wants a file.
func Wants(languages []Language, file string, above bool) bool {
	if !above && slashpath.Base(file) == manifestName {
		return true
	}
	for _, l := range languages {
		if l.Wants(file, above) {
			return true
		}
	}
	return false
}

// Read is what every language finds. What lies in a folder that is another
// module's, with a module.json of its own, is not read; a link is read as what it
// leads to in the folder; and what cannot be read at all is a fault of each
// language that wants it.
func Read(languages []Language, in Input) map[string]Found {
	in.Files = own(in)
	there := map[string]File{}
	for _, f := range in.Files {
		there[f.Path] = f
	}
	all := map[string]Found{}
	for _, l := range languages {
		given, found := in, Found{}
		given.Files, found.Faults = given.of(l, there)
		if len(given.Files) > 0 {
			read := l.Read(given)
			read.Faults = append(read.Faults, found.Faults...)
			found = read
		}
		if found = found.Sorted(nobody); len(found.Owns)+len(found.Imports)+len(found.Faults) > 0 {
			all[l.Name()] = found
		}
	}
	return all
}

// of is the files that a language wants, and which of them cannot be read.
func (in Input) of(l Language, there map[string]File) (files []File, faults []Fault) {
	for _, f := range in.Files {
		inside, above := relative(in.Folder, f.Path)
		if !l.Wants(inside, above) {
			continue
		}
		text, why := follow(in.Folder, f, there)
		if why == "" && len(text) > FileLimit {
			if o, is := l.(Opening); is && o.Opens(f.Path) {
				text = text[:FileLimit+1]
			} else {
				why = fmt.Sprintf("it has more than %d MiB, and is not read", FileLimit>>20)
			}
		}
		if why != "" {
			faults = append(faults, Fault{At: Place{File: strings.ToValidUTF8(f.Path, "\ufffd")}, Why: why})
		} else {
			files = append(files, File{Path: f.Path, Text: text})
		}
	}
	return files, faults
}

// nobody owns a name here: what is below one that the module owns may be
// another's all the same, which stands in its folder.
func nobody(string) []string { return nil }

// own is the files but for those of modules in the folder.
func own(in Input) []File {
	others := map[string]bool{}
	for _, f := range in.Files {
		dir := slashpath.Dir(f.Path)
		if slashpath.Base(f.Path) == manifestName && dir != in.Folder && (dir != "." || in.Folder != "") {
			others[dir] = true
		}
	}
	var out []File
	for _, f := range in.Files {
		if !within(others, f.Path, in.Folder) {
			out = append(out, f)
		}
	}
	return out
}

// within reports whether a file lies in one of these folders, below folder.
func within(folders map[string]bool, file, folder string) bool {
	for dir := slashpath.Dir(file); dir != "." && dir != "/" && dir != folder; dir = slashpath.Dir(dir) {
		if folders[dir] {
			return true
		}
	}
	return false
}

// relative is a file's path in the folder, or its name where it stands above it.
func relative(folder, file string) (in string, above bool) {
	if folder == "" {
		return file, false
	}
	if in, ok := strings.CutPrefix(file, folder+"/"); ok {
		return in, false
	}
	return slashpath.Base(file), true
}

// follow is a file's text, or that of what a link leads to; or why nobody can
// read it as code.
func follow(folder string, f File, there map[string]File) (text []byte, why string) {
	const most = 8 // links, one after the other
	path, first := f.Path, f.Link
	for range most {
		if f.Link == "" {
			return f.Text, unreadable(path, f.Text)
		}
		to := slashpath.Join(slashpath.Dir(f.Path), f.Link)
		if slashpath.IsAbs(f.Link) || folder != "" && !strings.HasPrefix(to, folder+"/") || to == ".." || strings.HasPrefix(to, "../") {
			return nil, fmt.Sprintf("it is a link to %q, outside of the module's folder: commit the file itself", first)
		}
		var is bool
		if f, is = there[to]; !is {
			return nil, fmt.Sprintf("it is a link to %q, which is nothing that is read: commit the file itself", first)
		}
	}
	return nil, fmt.Sprintf("it is a link to %q, and that leads on and on: commit the file itself", first)
}

// unreadable is why a text cannot be read as code.
func unreadable(path string, text []byte) string {
	switch {
	case Pointer(text):
		return "it is a pointer of Git LFS, and what it points to is not in the repository: commit the file itself"
	case !utf8.ValidString(path):
		return "its name is not UTF-8"
	}
	return ""
}
