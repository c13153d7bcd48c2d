package archivetest

import (
	"fmt"
	"strings"

	"noxmesh/archive"
	"noxmesh/document"
)

// Indexes is indexes that nothing may be done with, whatever comes with them.
func Indexes() map[string]archive.Index {
	good := File("a", "x")
	set := func(change func(*archive.Entry)) archive.Index { return Index(With(good, change)) }
	at := func(p string) archive.Index { return Index(File(p, "x")) }
	chain := []archive.Entry{}
	for i := range 42 {
		chain = append(chain, Link(fmt.Sprintf("l%02d", i), fmt.Sprintf("l%02d", i+1)))
	}
	return map[string]archive.Index{
		"parent":                    at("../evil"),
		"parent inside":             at("a/../../evil"),
		"parent at the end":         at("a/.."),
		"parent alone":              Index(Directory("..")),
		"parent as a directory":     Index(Directory(".."), File("../evil", "x")),
		"parent of a directory":     Index(Directory("a"), Directory("a/.."), File("a/../evil", "x")),
		"dot as a directory":        Index(Directory("."), File("./evil", "x")),
		"absolute":                  at("/etc/evil"),
		"no path":                   at(""),
		"dot":                       at("."),
		"dot inside":                at("./a"),
		"double slash":              at("a//b"),
		"trailing slash":            at("a/"),
		"NUL":                       at("a\x00b"),
		"newline":                   at("a\nb"),
		"carriage return":           at("a\rb"),
		"escape sequence":           at("a\x1b[2Jb"),
		"C1 control":                at("a\u0085b"),
		"not UTF-8":                 at("a\xffb"),
		"long name":                 at(strings.Repeat("n", 256)),
		"long path":                 Index(deep(strings.Repeat("n", 255), 17)...),
		"deep path":                 Index(deep("d", 257)...),
		"whiteout":                  at(".wh.a"),
		"opaque whiteout":           Index(Directory("d"), File("d/.wh..wh..opq", "x")),
		"no parent":                 at("no/parent"),
		"file as parent":            Index(File("f", "x"), File("f/x", "x")),
		"write through a link":      Index(Link("d", "."), File("d/x", "x")),
		"write through a link out":  Index(Link("d", "../outside"), File("d/x", "x")),
		"absolute link":             Index(Link("l", "/etc/passwd")),
		"link out":                  Index(Link("l", "../outside/secret")),
		"link to the parent":        Index(Link("l", "..")),
		"link out from below":       Index(Directory("d"), Link("d/l", "../../outside")),
		"link out by a detour":      Index(Directory("d"), Link("d/l", "e/f/../../../../outside")),
		"link out through a link":   Index(Directory("a"), Directory("a/b"), Link("a/b/up", "../.."), Link("out", "a/b/up/../outside")),
		"link to itself":            Index(Link("l", "l")),
		"links in a circle":         Index(Link("l", "m"), Link("m", "./l")),
		"links without end":         Index(chain...),
		"link without a target":     Index(Link("l", "")),
		"link with NUL":             Index(Link("l", "a\x00")),
		"link with newline":         Index(Link("l", "a\nb")),
		"link with a long target":   Index(Link("l", strings.Repeat("./", 2048))),
		"twice":                     Index(good, good),
		"file and directory":        Index(Directory("a"), good),
		"case twins":                Index(File("README", "x"), File("readme", "x")),
		"case twins in Greek":       Index(File("Σ", "x"), File("ς", "x")),
		"case twins by a sign":      Index(File("k", "x"), File("\u212a", "x")),
		"case twins of directories": Index(Directory("A"), File("A/x", "x"), Directory("a"), File("a/y", "x")),
		"twins by composition":      Index(File("cafe\u0301", "x"), File("caf\u00e9", "x")),
		"twins by order of marks":   Index(File("a\u0307\u0323", "x"), File("a\u0323\u0307", "x")),
		"twins by case and both":    Index(File("CAF\u00c9", "x"), File("cafe\u0301", "x")),
		"case twin of a link":       Index(Link("L", "x"), File("l", "x")),
		"not sorted":                Index(File("b", "x"), File("a", "x")),
		"hard link":                 set(func(e *archive.Entry) { e.Kind, e.Target = "hardlink", "/etc/passwd" }),
		"device":                    set(func(e *archive.Entry) { e.Kind = "device" }),
		"FIFO":                      set(func(e *archive.Entry) { e.Kind = "fifo" }),
		"no kind":                   set(func(e *archive.Entry) { e.Kind = "" }),
		"negative size":             set(func(e *archive.Entry) { e.Size = -1 }),
		"size beyond all":           set(func(e *archive.Entry) { e.Size = archive.MaxSize + 1 }),
		"sizes beyond all together": Index(With(good, func(e *archive.Entry) { e.Size = archive.MaxSize }), With(File("b", "x"), func(e *archive.Entry) { e.Size = archive.MaxSize })),
		"no digest":                 set(func(e *archive.Entry) { e.Digest = "" }),
		"digest in capitals":        set(func(e *archive.Entry) { e.Digest = document.Digest("sha256:" + strings.ToUpper(e.Digest.Hex())) }),
		"digest of another kind":    set(func(e *archive.Entry) { e.Digest = "md5:d41d8cd98f00b204e9800998ecf8427e" }),
		"empty file, other digest":  set(func(e *archive.Entry) { e.Size = 0 }),
		"file with a target":        set(func(e *archive.Entry) { e.Target = "x" }),
		"directory with a size":     Index(With(Directory("d"), func(e *archive.Entry) { e.Size = 1 })),
		"directory with a digest":   Index(With(Directory("d"), func(e *archive.Entry) { e.Digest = good.Digest })),
		"directory with a target":   Index(With(Directory("d"), func(e *archive.Entry) { e.Target = "x" })),
		"executable directory":      Index(With(Directory("d"), func(e *archive.Entry) { e.Executable = true })),
		"link with a size":          Index(With(Link("l", "x"), func(e *archive.Entry) { e.Size = 1 })),
		"executable link":           Index(With(Link("l", "x"), func(e *archive.Entry) { e.Executable = true })),
		"nothing":                   Index(),
		"format of another time":    {Format: 2, Entries: []archive.Entry{good}},
		"no format":                 {Entries: []archive.Entry{good}},
	}
}

// deep is a directory in a directory, so many times.
func deep(name string, times int) []archive.Entry {
	entries := make([]archive.Entry, times)
	for i := range entries {
		entries[i] = Directory(strings.TrimSuffix(strings.Repeat(name+"/", i+1), "/"))
	}
	return entries
}
