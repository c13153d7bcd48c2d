package imports

// Language reads what a module owns and what its code asks for. Its methods are
// called side by side; none of them keeps anything.
type Language interface {
	// Name is the language's, in lower case: "go".
	Name() string

	// Wants reports whether the language reads a file at all, by its path in the
	// module's folder. Where above is true it is asked about a file that stands
	// directly in one of the folders that enclose the module's, where only what
	// gives the module its name or its words their meaning is wanted: the go.mod
	// of a repository of which the module is a part.
	Wants(path string, above bool) bool

	// Read is what the files say: those that it wants, and nothing else. It does
	// not fail: what cannot be read is among the faults.
	Read(in Input) Found

	// Owners is each name that would own an imported name, the nearest first: for
	// the Go package example.com/site/page that name, example.com/site and
	// example.com. The module that owns the first of them that anybody owns is
	// what is imported; where that is the importing module itself, nothing is.
	Owners(name string) []string
}

// Whole is a language in which what a module gives to others has in it all that it
// was made of: an image has its base's layers. Whoever asks for it needs nothing
// that the module asks for itself.
type Whole interface {
	Language

	// Whole does nothing.
	Whole()
}

// Input is the files of one module's folder, for one platform.
type Input struct {
	Platform string // OS/ARCH, as linux/amd64: what is compiled for another is not read
	Folder   string // of the module in its repository, by slashes; empty for the root
	Files    []File // in no order; those of a module that stands in the folder are not among them
}

// File is a file at a commit.
type File struct {
	Path string // from the root of the repository, by slashes
	Text []byte // of a link, the text that it leads to
	Link string // where a link leads, before Read has followed it
}

// Found is what one language found. Each list is sorted by name and place, and
// names each thing once.
type Found struct {
	Owns    []Own    `json:"owns,omitempty"`
	Imports []Import `json:"imports,omitempty"`
	Faults  []Fault  `json:"faults,omitempty"`
}

// Place is where something is said.
type Place struct {
	File string `json:"file"`           // from the root of the repository
	Line int    `json:"line,omitempty"` // from 1; 0 for the file as a whole
}

// Own is a name that the module owns: what others write to import it.
type Own struct {
	Name string `json:"name"`
	At   Place  `json:"at"`
}

// Import is a name that the code asks for, or a path in the same repository
// that it reaches for outside of its folder. What a module owns itself, and what
// belongs to the language, is not among them. A name may still begin with one
// that the module owns, and a path with its folder: what is not among its files
// may be those of a module that stands in its folder.
type Import struct {
	Name string `json:"name,omitempty"` // in the language's words; empty where it is a path
	Path string `json:"path,omitempty"` // from the root of the repository, which is "."; the module with the nearest folder around it is what is imported
	Test bool   `json:"test,omitempty"` // only tests ask for it
	At   Place  `json:"at"`             // the first place in order; where it is not only for tests, the first that is none
}

// Fault is a file that could not be read as its language, and why.
type Fault struct {
	At   Place  `json:"at"`
	Why  string `json:"why"`
	Test bool   `json:"test,omitempty"` // it is a file of tests
}
