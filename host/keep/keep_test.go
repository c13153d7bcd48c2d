package keep

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/host/system"
	"noxmesh/internal/fault"
	"noxmesh/link"
	"noxmesh/report"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func opened(t testing.TB, root string) *Folder {
	t.Helper()
	sys, err := system.Open(root)
	must(t, err)
	f, err := Open(sys)
	must(t, err)
	t.Cleanup(func() { _ = f.Close(); _ = sys.Close() })
	return f
}

func TestOnlyOneProcessHoldsIt(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	f := opened(t, root)
	sys, err := system.Open(root)
	must(t, err)
	defer sys.Close()
	_, err = Open(sys)
	if fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) || fault.HintOf(err) == "" {
		t.Errorf("a second one: %v", err)
	}
	beside, err := Look(sys)
	must(t, err)
	if pid, ok := beside.Running(); !ok || pid != fmt.Sprint(os.Getpid()) {
		t.Errorf("running %v %q", ok, pid)
	}
	must(t, f.Close())
	if _, ok := beside.Running(); ok {
		t.Error("closed, and still running")
	}
	must(t, beside.Close())
}

func TestNobodyElseMayEnter(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(root, Path), 0o755))
	f := opened(t, root)
	must(t, f.SaveIdentity(Identity{Sign: "secret", Nats: "secret", Seal: "secret"}))
	for name, want := range map[string]os.FileMode{"": 0o700, "/identity": 0o600, "/lock": 0o600} {
		info, err := os.Stat(filepath.Join(root, Path+name))
		must(t, err)
		if info.Mode().Perm() != want {
			t.Errorf("%s%s has mode %v", Path, name, info.Mode())
		}
	}
	must(t, f.SaveJoined(Joined{Mesh: "m", Node: "n"}))
	if err := f.SaveIdentity(Identity{Sign: "other"}); fault.KindOf(err) != fault.Conflict {
		t.Errorf("keys were replaced: %v", err)
	}
	i, err := f.Identity()
	must(t, err)
	j := Joined{Mesh: "m", Node: "n", JWT: "secret", Secret: "secret"}
	for _, text := range []string{fmt.Sprint(i), fmt.Sprintf("%#v %+v", i, i), fmt.Sprintf("%v %+v %#v", j, j, j)} {
		if strings.Contains(text, "secret") {
			t.Errorf("it prints %q", text)
		}
	}
	if i.Sign != "secret" {
		t.Errorf("read back %q", i.Sign)
	}
}

// state writes every file that there is.
func state(t testing.TB, f *Folder) {
	t.Helper()
	envelope := link.Envelope{PayloadType: link.TypeDeclaration, Payload: []byte("{}"), Signatures: []link.Signature{}}
	must(t, f.SaveIdentity(Identity{Sign: "a", Nats: "b", Seal: "c"}))
	must(t, f.SaveJoined(Joined{Mesh: "m", Node: "n", Keys: envelope}))
	must(t, f.SaveAccepted(envelope))
	must(t, f.SaveState(State{Applied: declaration.Tuple{Epoch: 1, Generation: 2}}))
	must(t, f.SaveLatest(Latest{Report: report.Report{Sequence: 7, Modules: []declaration.Module{}, Resources: []report.Resource{}}}))
	r := NewRecord()
	r.Done["m/a"] = document.Sum(nil)
	must(t, f.SaveRecord(r))
	c, err := f.Counter()
	must(t, err)
	_, err = c.Next()
	must(t, err)
}

// TestDamageIsNamed damages each file in each way, and holds that it is never
// taken for "nothing yet".
func TestDamageIsNamed(t *testing.T) {
	t.Parallel()
	reads := map[string]func(*Folder) error{
		identityFile: func(f *Folder) error { _, err := f.Identity(); return err },
		joinedFile:   func(f *Folder) error { _, err := f.Joined(); return err },
		acceptedFile: func(f *Folder) error { _, err := f.Accepted(); return err },
		stateFile:    func(f *Folder) error { _, err := f.State(); return err },
		latestFile:   func(f *Folder) error { _, err := f.Latest(); return err },
		recordFile:   func(f *Folder) error { _, err := f.Record(); return err },
		counterFile:  func(f *Folder) error { _, err := f.Counter(); return err },
	}
	damages := map[string]func([]byte) []byte{
		"empty":    func([]byte) []byte { return nil },
		"cut":      func(b []byte) []byte { return b[:len(b)-1] },
		"half":     func(b []byte) []byte { return b[:len(b)/2] },
		"longer":   func(b []byte) []byte { return append(b, '\n') },
		"a bit":    func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"the head": func(b []byte) []byte { b[20] ^= 1; return b },
		"zeros":    func(b []byte) []byte { return make([]byte, len(b)) },
		"well-kept": func([]byte) []byte {
			body := []byte("nonsense\n")
			return append([]byte(header(document.Sum(body))), body...)
		},
	}
	for name, read := range reads {
		for how, damage := range damages {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				root := t.TempDir()
				f := opened(t, root)
				state(t, f)
				must(t, read(f))
				full := filepath.Join(root, Path, name)
				b, err := os.ReadFile(full)
				must(t, err)
				must(t, os.WriteFile(full, damage(b), 0o600))
				err = read(f)
				if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), full) || fault.HintOf(err) == "" {
					t.Errorf("%v, hint %q", err, fault.HintOf(err))
				}
			})
		}
	}
}

func TestCounterNeverGoesDown(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		f := opened(t, t.TempDir())
		last := int64(0)
		for range rapid.IntRange(1, 5).Draw(rt, "lives") {
			c, err := f.Counter() // a power cut: nothing is said at the end of a life
			must(t, err)
			for range rapid.IntRange(0, block+2).Draw(rt, "numbers") {
				n, err := c.Next()
				must(t, err)
				if n <= last {
					rt.Fatalf("%d after %d", n, last)
				}
				last = n
			}
		}
	})
}

func TestReserveIsMadeAgain(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	f := opened(t, root)
	full := filepath.Join(root, Path, reserveFile)
	info, err := os.Stat(full)
	must(t, err)
	if info.Size() != reserveSize {
		t.Errorf("the reserve has %d bytes", info.Size())
	}
	must(t, os.Remove(full))
	must(t, f.Close())
	opened(t, root)
	if _, err := os.Stat(full); err != nil {
		t.Errorf("it is not made again: %v", err)
	}
}

func entries() *rapid.Generator[Entry] {
	return rapid.Custom(func(t *rapid.T) Entry {
		e := Entry{
			Thing: Thing{
				Path: "/" + rapid.String().Draw(t, "path"), Kind: rapid.SampledFrom([]Kind{File, Directory, Link}).Draw(t, "kind"),
				Mode: os.FileMode(rapid.IntRange(0, 0o777).Draw(t, "mode")), Target: rapid.String().Draw(t, "target"),
				Size: rapid.Int64Range(0, 1<<40).Draw(t, "size"),
			},
			Was: rapid.SampledFrom([]Kind{0, File, Directory, Link}).Draw(t, "was"), ID: rapid.String().Draw(t, "id"),
			Origin: rapid.SampledFrom([]Origin{Made, TakenOver}).Draw(t, "origin"),
			Phase:  rapid.SampledFrom([]Phase{Done, Making, Changing}).Draw(t, "phase"),
		}
		e.Thing.Owner = rapid.SampledFrom([]Account{0, AccountOf(0), AccountOf(712), AccountOf(1<<32 - 3)}).Draw(t, "owner")
		e.Thing.Group = rapid.SampledFrom([]Account{0, AccountOf(0), AccountOf(1<<32 - 3)}).Draw(t, "group")
		if e.Thing.Kind == Directory {
			e.Thing.Mode |= rapid.SampledFrom([]fs.FileMode{0, fs.ModeSetgid, fs.ModeSticky, fs.ModeSetgid | fs.ModeSticky}).Draw(t, "special")
		}
		if rapid.Bool().Draw(t, "elsewhere") {
			e.Real = "/" + rapid.String().Draw(t, "real")
		}
		if e.Thing.Kind == File {
			e.Thing.Digest = document.Sum([]byte(e.ID))
		}
		return e
	})
}

func TestRecordIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		r := NewRecord()
		for _, e := range rapid.SliceOf(entries()).Draw(rt, "entries") {
			r.Entries.Put(e)
		}
		for _, id := range rapid.SliceOf(rapid.String()).Draw(rt, "done") {
			r.Done[id] = document.Sum([]byte(id))
		}
		for _, note := range rapid.SliceOf(rapid.String()).Draw(rt, "holds") {
			h := Hold{Subject: "user " + note, ID: note, Note: note, Origin: Made, Phase: Making}
			r.Holds[h.Subject] = h
		}
		got, err := DecodeRecord(string(r.Encode()))
		if err != nil {
			rt.Fatal(err)
		}
		lines := cmp.Transformer("lines", func(t *Table) []Entry { return slices.Collect(t.Sorted()) })
		if diff := cmp.Diff(r, got, lines); diff != "" {
			rt.Fatal(diff)
		}
	})
}

func recordSeeds() []string {
	e := Entry{Thing: Thing{Path: "/a b\n\"", Kind: File, Mode: 0o644, Digest: document.Sum(nil)}, ID: "m/a", Origin: Made, Phase: Done}
	r := NewRecord()
	r.Entries.Put(e)
	e.Thing = Thing{Path: "/d", Kind: Directory, Mode: 0o775 | fs.ModeSetgid | fs.ModeSticky, Owner: AccountOf(0), Group: AccountOf(712)}
	r.Entries.Put(e)
	e.Thing = Thing{Path: "/l", Kind: Link, Target: "/d", Group: AccountOf(1<<32 - 3)}
	r.Entries.Put(e)
	e.Thing = Thing{Path: "/s", Kind: File, Mode: 0o640, Size: 3, Digest: KeyedDigest(nil, nil)}
	r.Entries.Put(e)
	r.Done["m/a"] = document.Sum(nil)
	r.Holds["user a"] = Hold{Subject: "user a", ID: "m/user", Note: "OWN\n", Origin: TakenOver, Phase: Changing}
	whole := string(r.Encode())
	return []string{
		"", whole, whole + whole, "thing made done - file", "done \"x\" y\n", "hold made done \"\" \"\" \"\"\n", whole[:len(whole)-1], strings.ReplaceAll(whole, "\"", "`"),
		strings.ReplaceAll(whole, "hmac-sha256:b", "hmac-sha256:"), strings.ReplaceAll(whole, "done - directory 3775:0:712 -", "done - directory 3775:0:712 "+string(KeyedDigest(nil, nil))),
		strings.ReplaceAll(whole, "3775:0:712", "3775:-:-"), strings.ReplaceAll(whole, " 644 ", " 4644 "), strings.ReplaceAll(whole, "0:-:4294967293", "0:-:4294967295"),
	}
}

func TestLookOnNothingSaysSo(t *testing.T) {
	t.Parallel()
	sys, err := system.Open(t.TempDir())
	must(t, err)
	defer sys.Close()
	_, err = Look(sys)
	var said *fault.Error
	if !errors.As(err, &said) || said.Kind != fault.NotFound {
		t.Errorf("%v", err)
	}
}
