package archive_test

import (
	"archive/tar"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"noxmesh/archive"
	"noxmesh/archive/archivetest"
	"noxmesh/internal/fault"
)

// TestFrameTooLarge has honest frames that hold more than a host makes room for.
func TestFrameTooLarge(t *testing.T) {
	t.Parallel()
	content := noise(3<<20, 1)
	idx := index(file("large", content))
	stream := archivetest.TarStream(t, []tar.Header{{Typeflag: tar.TypeReg, Name: "large", Mode: 0o644}}, map[string]string{"large": content})
	for _, every := range []int{archive.FrameSize + 1, 2 << 20, 1 << 30} {
		o := newOutside(t)
		err := archive.Unpack(t.Context(), idx, source(archivetest.Forge(t, stream, every).Bytes()), o.target)
		if fault.KindOf(err) != fault.Invalid {
			t.Errorf("frames of %d bytes: %v", every, err)
		}
		o.empty(t)
	}
}

// TestLieAfterTheLastContent has the lie stand where nobody needs to look: in
// frames that hold directories alone.
func TestLieAfterTheLastContent(t *testing.T) {
	t.Parallel()
	entries := []archive.Entry{file("a", "x")}
	members := []tar.Header{{Typeflag: tar.TypeReg, Name: "a", Mode: 0o644}}
	for i := range 500 {
		entries = append(entries, directory(fmt.Sprintf("d%03d", i)))
		members = append(members, tar.Header{Typeflag: tar.TypeDir, Name: fmt.Sprintf("d%03d/", i), Mode: 0o755})
	}
	stream := archivetest.TarStream(t, members, map[string]string{"a": "x"})
	all := func(archive.Entry) bool { return true }
	none := func(archive.Entry, io.Reader) error { return nil }
	if err := archive.Extract(t.Context(), index(entries...), source(archivetest.Forge(t, stream, 700).Bytes()), all, none); err != nil {
		t.Fatalf("the honest one: %v", err)
	}
	stream[len(stream)-1] = 1
	blob := archivetest.Forge(t, stream, 700).Bytes()
	for range 20 {
		err := archive.Extract(t.Context(), index(entries...), source(blob), all, none)
		if fault.KindOf(err) != fault.Invalid {
			t.Fatalf("Extract: %v", err)
		}
	}
}

// TestNothingIsFollowed has somebody put things into the target while it is unpacked.
func TestNothingIsFollowed(t *testing.T) {
	t.Parallel()
	idx := index(file("a", "content\n"), directory("d"), file("d/b", "more\n"))
	stream := archivetest.TarStream(t, []tar.Header{
		{Typeflag: tar.TypeReg, Name: "a", Mode: 0o644},
		{Typeflag: tar.TypeDir, Name: "d/", Mode: 0o755},
		{Typeflag: tar.TypeReg, Name: "d/b", Mode: 0o644},
	}, map[string]string{"a": "content\n", "d/b": "more\n"})
	blob := archivetest.Forge(t, stream, 1<<20).Bytes()
	for name, plant := range map[string]func(dir string) error{
		"a file":                  func(dir string) error { return os.WriteFile(filepath.Join(dir, "a"), []byte("mine"), 0o600) },
		"a link out":              func(dir string) error { return os.Symlink("../outside/secret", filepath.Join(dir, "a")) },
		"a link out to nothing":   func(dir string) error { return os.Symlink("../outside/new", filepath.Join(dir, "a")) },
		"a link within":           func(dir string) error { return os.Symlink("elsewhere", filepath.Join(dir, "a")) },
		"a hard link":             func(dir string) error { return os.Link(filepath.Join(dir, "../secret"), filepath.Join(dir, "a")) },
		"a link for a directory":  func(dir string) error { return os.Symlink("../outside", filepath.Join(dir, "d")) },
		"a directory for another": func(dir string) error { return os.Mkdir(filepath.Join(dir, "d"), 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOutside(t)
			planted := false
			src := odd{source(blob), func(_, _ int64, body io.Reader) (io.Reader, error) {
				if planted {
					return body, nil
				}
				planted = true
				return body, plant(filepath.Join(o.dir, "target"))
			}}
			if err := archive.Unpack(t.Context(), idx, src, o.target); err == nil {
				t.Error("Unpack wrote over what somebody had put there")
			}
			o.unchanged(t)
		})
	}
	o := newOutside(t)
	if err := o.target.Mkdir("mine", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := archive.Unpack(t.Context(), idx, unread{t}, o.target); fault.KindOf(err) != fault.Conflict {
		t.Errorf("Unpack into a folder that is not empty: %v", err)
	}
}
