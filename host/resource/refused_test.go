package resource

import (
	"context"
	"errors"
	"slices"
	"testing"

	"noxmesh/archive"
	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/host/keep"
)

// refusing is a folder of which the disk refuses one record.
type refusing struct {
	*keep.Folder

	at int // which, from 1 on; less: none
}

func (r *refusing) SaveRecord(record keep.Record) error {
	if r.at--; r.at == 0 {
		return errors.New("the disk refuses it")
	}
	return r.Folder.SaveRecord(record)
}

// stopping ends a pass while it fetches.
type stopping struct {
	*depot

	stop func()
}

func (s stopping) Frames(ctx context.Context, digest document.Digest) (archive.Source, error) {
	s.stop()
	return s.depot.Frames(ctx, digest)
}

// Whatever became of the pass before, a thing is right only when the record on
// the disk says whose it is: a record that was refused, or of a pass that was
// stopped, is written by the next one, which finds everything as declared.
func TestARecordThatIsNotWrittenIsWrittenByTheNextPass(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T) (*machine, []declaration.Resource) {
		m := newMachine(t)
		m.plant("etc/app/conf", "one")
		dir := directory("dir", "/etc/app", "0755")
		all := []declaration.Resource{dir, m.depot.file("conf", "/etc/app/conf", "one"), m.depot.file("new", "/srv/deep/new", "new"), m.depot.archive(t, "pages", "/opt/site", map[string]string{"a": "a"})}
		return m, all
	}
	recorded := func(t *testing.T, m *machine, all []declaration.Resource) {
		t.Helper()
		m.applied(all...)
		record, err := m.folder.Record()
		must(t, err)
		for _, r := range all {
			known := slices.ContainsFunc(slices.Collect(record.Entries.All()), func(e keep.Entry) bool { return e.ID == r.ID && e.Phase == keep.Done })
			if record.Done[r.ID] == "" || !known {
				t.Errorf("%s is reported to be as declared, and the record on the disk knows nothing of it", r.ID)
			}
		}
	}
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		for at := 1; ; at++ {
			m, all := begin(t)
			keeps := &refusing{m.folder, at}
			m.engine.keep = keeps
			r := m.apply(all...)
			if keeps.at > 0 {
				if at < 3 {
					t.Errorf("only %d records were written", at-1)
				}
				return
			}
			if r.Right {
				t.Errorf("everything is right, and record %d was refused", at)
			}
			recorded(t, m, all)
		}
	})
	t.Run("stopped", func(t *testing.T) {
		t.Parallel()
		m, all := begin(t)
		ctx, stop := context.WithCancel(t.Context())
		if _, err := m.engine.Apply(ctx, declaration.Body{Resources: all}, stopping{m.depot, stop}); err == nil {
			t.Fatal("a pass that was stopped has ended well")
		}
		recorded(t, m, all)
	})
}
