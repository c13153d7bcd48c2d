package archive_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"noxmesh/archive"
	"noxmesh/document"
	"noxmesh/internal/fault"
)

// hostileIndexes is indexes that nothing may be done with, whatever comes with them.
func hostileIndexes() map[string]archive.Index {
	good := file("a", "x")
	set := func(change func(*archive.Entry)) archive.Index { return index(with(good, change)) }
	at := func(p string) archive.Index { return index(file(p, "x")) }
	chain := []archive.Entry{}
	for i := range 42 {
		chain = append(chain, link(fmt.Sprintf("l%02d", i), fmt.Sprintf("l%02d", i+1)))
	}
	return map[string]archive.Index{
		"parent":                    at("../evil"),
		"parent inside":             at("a/../../evil"),
		"parent at the end":         at("a/.."),
		"parent alone":              index(directory("..")),
		"parent as a directory":     index(directory(".."), file("../evil", "x")),
		"parent of a directory":     index(directory("a"), directory("a/.."), file("a/../evil", "x")),
		"dot as a directory":        index(directory("."), file("./evil", "x")),
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
		"long path":                 index(deep(strings.Repeat("n", 255), 17)...),
		"deep path":                 index(deep("d", 257)...),
		"no parent":                 at("no/parent"),
		"file as parent":            index(file("f", "x"), file("f/x", "x")),
		"write through a link":      index(link("d", "."), file("d/x", "x")),
		"write through a link out":  index(link("d", "../outside"), file("d/x", "x")),
		"absolute link":             index(link("l", "/etc/passwd")),
		"link out":                  index(link("l", "../outside/secret")),
		"link to the parent":        index(link("l", "..")),
		"link out from below":       index(directory("d"), link("d/l", "../../outside")),
		"link out by a detour":      index(directory("d"), link("d/l", "e/f/../../../../outside")),
		"link out through a link":   index(directory("a"), directory("a/b"), link("a/b/up", "../.."), link("out", "a/b/up/../outside")),
		"link to itself":            index(link("l", "l")),
		"links in a circle":         index(link("l", "m"), link("m", "./l")),
		"links without end":         index(chain...),
		"link without a target":     index(link("l", "")),
		"link with NUL":             index(link("l", "a\x00")),
		"link with newline":         index(link("l", "a\nb")),
		"link with a long target":   index(link("l", strings.Repeat("./", 2048))),
		"twice":                     index(good, good),
		"file and directory":        index(directory("a"), good),
		"case twins":                index(file("README", "x"), file("readme", "x")),
		"case twins in Greek":       index(file("Σ", "x"), file("ς", "x")),
		"case twins by a sign":      index(file("k", "x"), file("\u212a", "x")),
		"case twins of directories": index(directory("A"), file("A/x", "x"), directory("a"), file("a/y", "x")),
		"case twin of a link":       index(link("L", "x"), file("l", "x")),
		"not sorted":                index(file("b", "x"), file("a", "x")),
		"hard link":                 set(func(e *archive.Entry) { e.Kind, e.Target = "hardlink", "/etc/passwd" }),
		"device":                    set(func(e *archive.Entry) { e.Kind = "device" }),
		"FIFO":                      set(func(e *archive.Entry) { e.Kind = "fifo" }),
		"no kind":                   set(func(e *archive.Entry) { e.Kind = "" }),
		"negative size":             set(func(e *archive.Entry) { e.Size = -1 }),
		"size beyond all":           set(func(e *archive.Entry) { e.Size = archive.MaxSize + 1 }),
		"sizes beyond all together": index(with(good, func(e *archive.Entry) { e.Size = archive.MaxSize }), with(file("b", "x"), func(e *archive.Entry) { e.Size = archive.MaxSize })),
		"no digest":                 set(func(e *archive.Entry) { e.Digest = "" }),
		"digest in capitals":        set(func(e *archive.Entry) { e.Digest = document.Digest("sha256:" + strings.ToUpper(e.Digest.Hex())) }),
		"digest of another kind":    set(func(e *archive.Entry) { e.Digest = "md5:d41d8cd98f00b204e9800998ecf8427e" }),
		"empty file, other digest":  set(func(e *archive.Entry) { e.Size = 0 }),
		"file with a target":        set(func(e *archive.Entry) { e.Target = "x" }),
		"directory with a size":     index(with(directory("d"), func(e *archive.Entry) { e.Size = 1 })),
		"directory with a digest":   index(with(directory("d"), func(e *archive.Entry) { e.Digest = good.Digest })),
		"directory with a target":   index(with(directory("d"), func(e *archive.Entry) { e.Target = "x" })),
		"executable directory":      index(with(directory("d"), func(e *archive.Entry) { e.Executable = true })),
		"link with a size":          index(with(link("l", "x"), func(e *archive.Entry) { e.Size = 1 })),
		"executable link":           index(with(link("l", "x"), func(e *archive.Entry) { e.Executable = true })),
		"nothing":                   index(),
		"format of another time":    {Format: 2, Entries: []archive.Entry{good}},
		"no format":                 {Entries: []archive.Entry{good}},
	}
}

// deep is a directory in a directory, so many times.
func deep(name string, times int) []archive.Entry {
	entries := make([]archive.Entry, times)
	for i := range entries {
		entries[i] = directory(strings.TrimSuffix(strings.Repeat(name+"/", i+1), "/"))
	}
	return entries
}

func TestHostileIndexes(t *testing.T) {
	t.Parallel()
	for name, idx := range hostileIndexes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := idx.Check(); fault.KindOf(err) != fault.Invalid {
				t.Errorf("Check: %v", err)
			}
			if plain, err := idx.Encode(); err == nil {
				if _, err := archive.DecodeIndex(plain); fault.KindOf(err) != fault.Invalid {
					t.Errorf("DecodeIndex: %v", err)
				}
			}
			// Whoever has not decoded the index, but made it, is refused too.
			outside := newOutside(t)
			err := archive.Unpack(t.Context(), idx, unread{t}, outside.target)
			if fault.KindOf(err) != fault.Invalid {
				t.Errorf("Unpack: %v", err)
			}
			outside.unchanged(t)
			outside.empty(t)
		})
	}
}

// unread is a source that nobody may read.
type unread struct{ t testing.TB }

func (unread) Size() int64 { return 1 << 20 }

func (u unread) ReadRange(_ context.Context, off, n int64) (io.ReadCloser, error) {
	u.t.Errorf("%d bytes read at %d, before the index was refused", n, off)
	return nil, io.EOF
}

func TestHostileIndexText(t *testing.T) {
	t.Parallel()
	const digest = `"digest":"sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"`
	good := `{"entries":[{` + digest + `,"kind":"file","path":"a","size":1}],"format":1}`
	if _, err := archive.DecodeIndex([]byte(good)); err != nil {
		t.Fatalf("the good one: %v", err)
	}
	entry := func(e string) string { return `{"entries":[{` + e + `}],"format":1}` }
	for name, text := range map[string]string{
		"setuid":              entry(digest + `,"kind":"file","mode":"04755","path":"a","size":1`),
		"extended attribute":  entry(digest + `,"kind":"file","path":"a","size":1,"xattr":{}`),
		"owner":               entry(digest + `,"kind":"file","owner":0,"path":"a","size":1`),
		"key twice":           entry(digest + `,"kind":"file","path":"a","path":"../b","size":1`),
		"key in capitals":     entry(digest + `,"Kind":"file","path":"a","size":1`),
		"zero written out":    entry(digest + `,"executable":false,"kind":"file","path":"a","size":1`),
		"keys not sorted":     entry(`"kind":"file",` + digest + `,"path":"a","size":1`),
		"escape not needed":   entry(digest + `,"kind":"file","path":"\u0061","size":1`),
		"space":               strings.Replace(good, ":", ": ", 1),
		"newline at the end":  good + "\n",
		"second document":     good + good,
		"trailing bytes":      good + "\x00",
		"cut off":             good[:len(good)-1],
		"float":               strings.Replace(good, `"size":1`, `"size":1.0`, 1),
		"exponent":            strings.Replace(good, `"size":1`, `"size":1e0`, 1),
		"size as text":        strings.Replace(good, `"size":1`, `"size":"1"`, 1),
		"integer beyond 2^63": strings.Replace(good, `"size":1`, `"size":9223372036854775808`, 1),
		"executable as text":  entry(digest + `,"executable":"yes","kind":"file","path":"a","size":1`),
		"entries null":        `{"entries":null,"format":1}`,
		"entry null":          `{"entries":[null],"format":1}`,
		"entries an object":   `{"entries":{},"format":1}`,
		"no entries":          `{"format":1}`,
		"an array":            `[]`,
		"nothing":             ``,
		"lone surrogate":      entry(digest + `,"kind":"file","path":"\ud800","size":1`),
		"invalid UTF-8":       entry(digest + ",\"kind\":\"file\",\"path\":\"\xff\",\"size\":1"),
		"byte order mark":     "\ufeff" + good,
		"deep nesting":        strings.Repeat("[", 10000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if idx, err := archive.DecodeIndex([]byte(text)); fault.KindOf(err) != fault.Invalid {
				t.Errorf("DecodeIndex = %v, %v; want it refused as invalid", idx, err)
			}
		})
	}
}

func TestIndexBomb(t *testing.T) {
	t.Parallel()
	wire := compress(t, make([]byte, archive.MaxIndex+1))
	if _, err := archive.DecompressIndex(wire); fault.KindOf(err) != fault.Invalid {
		t.Errorf("%d bytes that become too many: %v", len(wire), err)
	}
	for _, wire := range [][]byte{nil, {1, 2, 3}, compress(t, []byte("{}"))} {
		if _, err := archive.DecompressIndex(wire); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%x: %v", wire, err)
		}
	}
}

func TestTooManyEntries(t *testing.T) {
	t.Parallel()
	idx := index(make([]archive.Entry, archive.MaxEntries+1)...)
	if err := idx.Check(); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "entries, at most") {
		t.Errorf("Check: %v", err)
	}
}
