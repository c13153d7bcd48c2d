package resource

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"noxmesh/archive"
	"noxmesh/archive/archivetest"
	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/document/documenttest"
	"noxmesh/internal/fault"
	"noxmesh/report"
)

// A hostile is an archive that no host may unpack.
type hostile struct {
	index archive.Index
	blob  []byte
}

func hostiles(t *testing.T) map[string]hostile {
	t.Helper()
	v := archivetest.NewVictim(t)
	all := map[string]hostile{}
	for name, idx := range archivetest.Indexes() {
		all["index, "+name] = hostile{idx, archivetest.Forge(t, v.Stream, 1<<20).Bytes()}
	}
	for name, stream := range v.Streams(t) {
		all["stream, "+name] = hostile{v.Index, archivetest.Forge(t, stream, 1<<20).Bytes()}
		all["stream in frames, "+name] = hostile{v.Index, archivetest.Forge(t, stream, 700).Bytes()}
	}
	for name, change := range v.Tables(t) {
		f := archivetest.Forge(t, v.Stream, 1100)
		change(f)
		all["frames, "+name] = hostile{v.Index, f.Bytes()}
	}
	return all
}

// put lays the archive out as a registry would that is in on it: whatever can
// be given its right digest has it.
func (h hostile) put(t *testing.T, d *depot) declaration.Resource {
	t.Helper()
	plain, err := h.index.Encode()
	if err != nil { // a name that is no JSON cannot be in an index that travels
		plain = []byte(`{"entries":null,"format":1}`)
	}
	digest := document.Sum(plain)
	d.indexes[digest], d.blobs[digest] = archivetest.Compress(t, plain), h.blob
	return declaration.Resource{ID: "m/site", Type: declaration.Archive, Path: "/opt/site", Digest: digest}
}

// A host refuses a hostile archive before the first byte wherever its index, its
// table of frames and its sizes show what it is: nothing on the machine has been
// made, changed or touched. What only content can show is found while files are
// staged: what was staged is gone then, no file and no link of the archive has
// become visible, and what was there of an older one stays as it was. There may
// be directories of its index, which was right. A lie that stands where the host
// has nothing to fetch, it never hears: then all that is there is right.
func TestAHostRefusesHostileArchives(t *testing.T) {
	t.Parallel()
	all := hostiles(t)
	if len(all) < 180 {
		t.Errorf("%d hostile archives, there were more", len(all))
	}
	for name, h := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h.refused(t, strings.HasPrefix(name, "stream in frames, "))
		})
	}
}

// refused applies the archive: to an empty machine where it is refused before
// the first byte, and over an older one where that takes reading it.
func (h hostile) refused(t *testing.T, mayBeUnread bool) {
	t.Helper()
	m := newMachine(t)
	m.plant("/etc/passwd", "root")
	m.plant("/outside/secret", "secret")
	_, early := archive.Open(t.Context(), h.index, archive.Local(bytes.NewReader(h.blob), int64(len(h.blob))))
	if early == nil {
		m.applied(m.depot.archive(t, "m/site", "/opt/site", map[string]string{"dir/a": "old", "gone": "x"}))
	}
	before := m.snapshot()
	r := m.apply(h.put(t, m.depot))
	if mayBeUnread && early == nil && r.Outcome == report.OutcomeApplied {
		m.is("/opt/site/dir/a", "the first\n")
		m.is("/opt/site/dir/b", "the second\n")
		m.is("/opt/site/l", "->dir/a")
		return
	}
	got := m.state(r, "m/site", report.StateFailed)
	documenttest.Plain(t, fault.New(fault.Invalid, "%s", got.Error))
	if got.Error == "" || r.Outcome != report.OutcomeFailed {
		t.Errorf("outcome %s, error %q", r.Outcome, got.Error)
	}
	after := m.snapshot()
	if early == nil {
		before, after = things(before), things(after)
	}
	if !slices.Equal(before, after) {
		t.Errorf("%s; before:\n%s\nafter:\n%s", got.Error, strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
}

// things is a snapshot without its directories: what was staged has been in
// them, and is gone.
func things(snapshot []string) []string {
	return slices.DeleteFunc(slices.Clone(snapshot), func(line string) bool {
		_, what, _ := strings.Cut(line, " ")
		return strings.HasPrefix(what, "/ d")
	})
}
