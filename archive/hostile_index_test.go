package archive_test

import (
	"context"
	"io"
	"runtime"
	"strings"
	"testing"

	"noxmesh/archive"
	"noxmesh/archive/archivetest"
	"noxmesh/internal/fault"
)

func TestHostileIndexes(t *testing.T) {
	t.Parallel()
	for name, idx := range archivetest.Indexes() {
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
	wire := archivetest.Compress(t, make([]byte, archive.MaxIndex+1))
	if _, err := archive.DecompressIndex(wire); fault.KindOf(err) != fault.Invalid {
		t.Errorf("%d bytes that become too many: %v", len(wire), err)
	}
	for _, wire := range [][]byte{nil, {1, 2, 3}, archivetest.Compress(t, []byte("{}"))} {
		if _, err := archive.DecompressIndex(wire); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%x: %v", wire, err)
		}
	}
}

// An index of a million entries is refused before there is room made for them.
func TestAMillionEntries(t *testing.T) { //nolint:paralleltest // it counts what is allocated
	text := []byte(`{"entries":[` + strings.TrimSuffix(strings.Repeat(`{"kind":"","path":""},`, 1_000_000), ",") + `],"format":1}`)
	wire := archivetest.Compress(t, text)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := archive.DecompressIndex(wire)
	runtime.ReadMemStats(&after)
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "1000000 entries, at most 524288 are read") {
		t.Errorf("%d bytes on the wire: %v", len(wire), err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 4*uint64(len(text)) {
		t.Errorf("%d bytes were allocated for an index of %d", took, len(text))
	}
}

func TestTooManyEntries(t *testing.T) {
	t.Parallel()
	idx := index(make([]archive.Entry, archive.MaxEntries+1)...)
	if err := idx.Check(); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "entries, at most") {
		t.Errorf("Check: %v", err)
	}
}
