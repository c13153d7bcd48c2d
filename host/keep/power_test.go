//go:build meshcrash && power

package keep

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/host/system"
	"noxmesh/internal/fault"
	"noxmesh/internal/power"
	"noxmesh/link"
	"noxmesh/report"
)

const writerVariable = "MESH_TEST_KEEP"

// TestPowerIsCutInTheState: what a host has said to have kept is there, in the
// order in which it was kept, and nothing of it is half.
func TestPowerIsCutInTheState(t *testing.T) {
	if root := os.Getenv(writerVariable); root != "" {
		keepAndSay(t, root)
		return
	}
	t.Parallel()
	run := func(dir string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestPowerIsCutInTheState$")
		cmd.Env = append(os.Environ(), writerVariable+"="+dir)
		return cmd
	}
	power.Writer{Run: run, Begin: power.Blank(t, "16M"), Least: 80}.EachCut(t, func(t *testing.T, dir string, said []string) {
		kept := keptAt(t, dir)
		for _, s := range said {
			what, number, ok := strings.Cut(s, "=")
			if !ok {
				continue // the test binary's own words
			}
			n, err := strconv.ParseInt(number, 10, 64)
			must(t, err)
			if kept[what] < n {
				t.Errorf("it had said %s, and kept is %v", s, kept)
			}
		}
	})
}

func accepted(n int64) link.Envelope {
	return link.Envelope{PayloadType: link.TypeDeclaration, Payload: fmt.Appendf(nil, `{"generation":%d}`, n), Signatures: []link.Signature{}}
}

// keepAndSay keeps everything several times over, and says what is kept.
func keepAndSay(t *testing.T, root string) {
	f := opened(t, root)
	say := func(what string, n int64) { _, _ = fmt.Fprintf(os.Stdout, "%s=%d\n", what, n) }
	must(t, f.SaveIdentity(Identity{Sign: "a", Nats: "b", Seal: "c"}))
	say("identity", 1)
	counter, err := f.Counter()
	must(t, err)
	for n := range int64(3) {
		must(t, f.SaveJoined(Joined{Mesh: "m", Node: strconv.FormatInt(n, 10), Keys: accepted(0)}))
		say("joined", n)
		must(t, f.SaveAccepted(accepted(n)))
		say("accepted", n)
		r := NewRecord()
		r.Done["m/a"] = document.Sum([]byte(strconv.FormatInt(n, 10)))
		for i := range n {
			p := "/" + strconv.FormatInt(i, 10)
			r.Entries.Put(Entry{Thing: Thing{Path: p, Kind: Directory, Mode: 0o755}, Origin: Made, Phase: Done})
		}
		must(t, f.SaveRecord(r))
		say("record", n)
		must(t, f.SaveState(State{Applied: declaration.Tuple{Epoch: 1, Generation: n}}))
		say("state", n)
		for range 200 {
			count, err := counter.Next()
			must(t, err)
			say("counter", count)
		}
		must(t, f.SaveLatest(Latest{Report: report.Report{Sequence: n, Modules: []declaration.Module{}, Resources: []report.Resource{}}}))
		say("report", n)
	}
}

// keptAt is what is in the state, as numbers; -1 where there is nothing yet.
func keptAt(t *testing.T, root string) map[string]int64 {
	t.Helper()
	sys, err := system.Open(root)
	must(t, err)
	defer sys.Close()
	f, err := Open(sys)
	must(t, err)
	defer f.Close()
	kept := map[string]int64{}
	read := func(what string, ask func() (int64, error)) {
		n, err := ask()
		if fault.KindOf(err) == fault.NotFound {
			n, err = -1, nil
		}
		must(t, err)
		kept[what] = n
	}
	read("identity", func() (int64, error) { i, err := f.Identity(); return int64(len(i.Sign)), err })
	read("joined", func() (int64, error) {
		j, err := f.Joined()
		if err != nil {
			return 0, err
		}
		return strconv.ParseInt(j.Node, 10, 64)
	})
	read("accepted", func() (int64, error) {
		e, err := f.Accepted()
		if err != nil {
			return 0, err
		}
		return int64(slices.IndexFunc([]int64{0, 1, 2}, func(n int64) bool { return string(accepted(n).Payload) == string(e.Payload) })), nil
	})
	read("record", func() (int64, error) { r, err := f.Record(); return int64(r.Entries.Len()), err })
	read("state", func() (int64, error) { s, err := f.State(); return s.Applied.Generation, err })
	read("report", func() (int64, error) { l, err := f.Latest(); return l.Report.Sequence, err })
	read("counter", func() (int64, error) {
		c, err := f.Counter()
		if err != nil {
			return 0, err
		}
		n, err := c.Next()
		return n - 1, err // every number below was perhaps given
	})
	return kept
}
