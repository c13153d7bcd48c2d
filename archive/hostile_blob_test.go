package archive_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"noxmesh/archive"
	"noxmesh/archive/archivetest"
	"noxmesh/internal/fault"
)

func TestHostileStreams(t *testing.T) {
	t.Parallel()
	v := archivetest.NewVictim(t)
	unpackForged(t, v, archivetest.Forge(t, v.Stream, 1<<20).Bytes(), "")
	unpackForged(t, v, archivetest.Forge(t, v.Stream, 700).Bytes(), "")
	for name, stream := range v.Streams(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			unpackForged(t, v, archivetest.Forge(t, stream, 1<<20).Bytes(), "nothing")
			unpackForged(t, v, archivetest.Forge(t, stream, 700).Bytes(), "something")
		})
	}
}

// unpackForged unpacks a blob as the victim. It succeeds where allowed is "",
// and otherwise is refused, with nothing or something right written by then.
func unpackForged(t *testing.T, v archivetest.Victim, blob []byte, allowed string) {
	t.Helper()
	o := newOutside(t)
	err := archive.Unpack(t.Context(), v.Index, source(blob), o.target)
	o.unchanged(t)
	switch {
	case allowed == "":
		if err != nil {
			t.Errorf("the honest one: %v", err)
		}
		return
	case fault.KindOf(err) != fault.Invalid:
		t.Errorf("Unpack: %v; want it refused as invalid", err)
	}
	if allowed == "nothing" {
		o.empty(t)
	}
	differences, err := archive.Verify(t.Context(), o.target, v.Index)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range differences {
		// The file at which it stopped may be there in part; nothing else may be wrong.
		if d.What != archive.Missing && d.What != archive.WrongContent && d.What != archive.WrongMode {
			t.Errorf("written before it was refused: %+v", d)
		}
	}
}

func TestHostileTables(t *testing.T) {
	t.Parallel()
	v := archivetest.NewVictim(t)
	for name, change := range v.Tables(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := archivetest.Forge(t, v.Stream, 1100)
			change(f)
			unpackForged(t, v, f.Bytes(), "something")
		})
	}
}

func TestCutOffBlob(t *testing.T) {
	t.Parallel()
	v := archivetest.NewVictim(t)
	whole := archivetest.Forge(t, v.Stream, 1100).Bytes()
	for n := range len(whole) {
		o := newOutside(t)
		// A blob that is declared shorter has no table at its end.
		err := archive.Unpack(t.Context(), v.Index, source(whole[:n]), o.target)
		if fault.KindOf(err) != fault.Invalid {
			t.Errorf("a blob of %d bytes: %v", n, err)
		}
		o.empty(t)
		if n%16 != 0 {
			continue
		}
		// One that is declared whole and ends early did not come: try again.
		short := archive.Local(bytes.NewReader(whole[:n]), int64(len(whole)))
		if err := archive.Unpack(t.Context(), v.Index, short, o.target); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("a blob that ends after %d bytes: %v", n, err)
		}
		o.unchanged(t)
	}
}

// odd is a source with a fault of its own.
type odd struct {
	archive.Source
	read func(off, n int64, body io.Reader) (io.Reader, error)
}

func (o odd) ReadRange(ctx context.Context, off, n int64) (io.ReadCloser, error) {
	body, err := o.Source.ReadRange(ctx, off, n)
	if err != nil {
		return nil, err
	}
	r, err := o.read(off, n, body)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(r), nil
}

func TestOddSources(t *testing.T) {
	t.Parallel()
	v := archivetest.NewVictim(t)
	blob := archivetest.Forge(t, v.Stream, 1100).Bytes()
	down := fault.New(fault.Unavailable, "registry is down")
	for name, c := range map[string]struct {
		read func(off, n int64, body io.Reader) (io.Reader, error)
		want fault.Kind
	}{
		"endless": {func(_, _ int64, body io.Reader) (io.Reader, error) {
			return io.MultiReader(body, zeros{}), nil
		}, fault.Unknown},
		"byte by byte": {func(_, _ int64, body io.Reader) (io.Reader, error) {
			return slow{body}, nil
		}, fault.Unknown},
		"down": {func(int64, int64, io.Reader) (io.Reader, error) { return nil, down }, fault.Unavailable},
		"breaks off": {func(_, n int64, body io.Reader) (io.Reader, error) {
			return io.LimitReader(body, n/2), nil
		}, fault.Unavailable},
		"fails while it is read": {func(_, n int64, body io.Reader) (io.Reader, error) {
			return io.MultiReader(io.LimitReader(body, n/2), failing{errors.New("connection reset")}), nil
		}, fault.Unavailable},
		"a page of HTML": {func(_, n int64, _ io.Reader) (io.Reader, error) {
			return strings.NewReader(strings.Repeat("<html>not found</html>", int(n))), nil
		}, fault.Invalid},
		"from the beginning always": {func(_, n int64, _ io.Reader) (io.Reader, error) {
			return io.MultiReader(bytes.NewReader(blob), zeros{}), nil
		}, fault.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOutside(t)
			err := archive.Unpack(t.Context(), v.Index, odd{source(blob), c.read}, o.target)
			if kind := fault.KindOf(err); kind != c.want || (err == nil) != (c.want == fault.Unknown) {
				t.Errorf("Unpack: %v (%v), want %v", err, kind, c.want)
			}
			o.unchanged(t)
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

type slow struct{ r io.Reader }

func (o slow) Read(p []byte) (int, error) { return o.r.Read(p[:min(1, len(p))]) }

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// TestLateLie has the last frame of a large file lie: whoever reads it is told
// before it ends.
func TestLateLie(t *testing.T) {
	t.Parallel()
	content := noise(3<<20, 3)
	idx := index(file("large", content))
	stream := archivetest.TarStream(t, []tar.Header{{Typeflag: tar.TypeReg, Name: "large", Mode: 0o644}}, map[string]string{"large": content})
	stream[512+len(content)-1] ^= 1
	src := source(archivetest.Forge(t, stream, 1<<20).Bytes())
	all := func(archive.Entry) bool { return true }
	err := archive.Extract(t.Context(), idx, src, all, func(_ archive.Entry, r io.Reader) error {
		b, err := io.ReadAll(r)
		if err == nil {
			t.Errorf("the reader ended after %d bytes as if they were right", len(b))
		}
		if len(b) >= len(content) {
			t.Errorf("the reader gave all %d bytes", len(b))
		}
		return err
	})
	if fault.KindOf(err) != fault.Invalid {
		t.Errorf("Extract: %v", err)
	}
	// Whoever looks at the beginning alone has not been given a right file either.
	err = archive.Extract(t.Context(), idx, src, all, func(archive.Entry, io.Reader) error { return nil })
	if fault.KindOf(err) != fault.Invalid {
		t.Errorf("Extract without reading: %v", err)
	}
}
