//go:build power

package line

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"noxmesh/internal/invariant"
	"noxmesh/internal/observe"
	"noxmesh/internal/power"
	"noxmesh/status"
)

// firstOut is the module site on node1, out as of "first again".
func (m *mesh) firstOut() {
	m.t.Helper()
	m.module("site", site("site", "first"))
	m.assign("site", "node1")
	m.auto("site")
	first := m.forge.commit("site", files{"public/index.html": "first again"})
	m.until("the first is out", isOut("site", first, 1))
}

// TestDiskOfANodeIsFull: the disk of a node is full, and then it fails. The
// report goes out and names the folder; what was there stays; when there is room
// it goes on by itself.
func TestDiskOfANodeIsFull(t *testing.T) {
	t.Parallel()
	advice := map[string]string{"no room": "make room there", "no inodes": "inodes of"}
	for name, disk := range map[string]power.Image{"no room": power.Blank(t, "16M"), "no inodes": power.Blank(t, "16M", "-N", "96")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := begin(t, options{programs: folder(t, programs), drift: 2 * time.Second})
			must(t, os.MkdirAll(m.root("node1"), 0o755))
			d := disk.MountAt(t, m.root("node1"))
			t.Cleanup(func() { m.host("node1").kill() }) // before the disk goes
			m.addBuilder("b1")
			m.addHost("node1")
			m.firstOut()
			var free func()
			big := files{"public/index.html": "second", "public/big": strings.Repeat("many words ", 1<<16)}
			if name == "no inodes" {
				free = d.FillInodes()
			} else {
				free = d.Fill(64 << 10)
			}
			second := m.forge.commit("site", big)
			s := m.until("the node has failed and says it", func(s status.Status) string {
				n := nodeOf(s, "node1")
				for _, f := range n.Failing {
					if n.State == "failed" && strings.Contains(f.Error, "no space left") && strings.Contains(f.Error, advice[name]) {
						return ""
					}
				}
				return fmt.Sprintf("%+v", n)
			})
			t.Logf("%+v", nodeOf(s, "node1").Failing)
			m.holds("node1", "opt/site/index.html", "first again")
			m.lacks("node1", "opt/site/big")
			free()
			m.until("it goes on by itself", isOut("site", second, 1))
			m.holds("node1", "opt/site/index.html", "second")
		})
	}
}

// TestDiskOfANodeIsReadOnly: a node whose disk the kernel has shut still reports.
func TestDiskOfANodeIsReadOnly(t *testing.T) {
	t.Parallel()
	for name, shut := range map[string]func(*power.Disk){
		"read-only": (*power.Disk).ReadOnly,
		"failed":    func(d *power.Disk) { d.Fail(power.Lost) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := begin(t, options{programs: folder(t, programs), drift: 2 * time.Second})
			must(t, os.MkdirAll(m.root("node1"), 0o755))
			d := power.New(t, "16M")
			must(t, os.Remove(m.root("node1")))
			must(t, os.Symlink(d.Dir, m.root("node1")))
			t.Cleanup(func() { m.host("node1").kill() })
			m.addBuilder("b1")
			m.addHost("node1")
			m.firstOut()
			shut(d)
			second := m.forge.commit("site", files{"public/index.html": "second"})
			m.until("it is not green", func(s status.Status) string {
				if n := nodeOf(s, "node1"); n.State == "applied" {
					return fmt.Sprintf("%+v", n)
				}
				return ""
			})
			s := m.until("the node says what is wrong", func(s status.Status) string {
				n := nodeOf(s, "node1")
				if text := fmt.Sprintf("%+v", n); strings.Contains(text, "read-only") || strings.Contains(text, "input/output error") {
					return ""
				}
				return fmt.Sprintf("%+v", n)
			})
			t.Logf("%+v", nodeOf(s, "node1"))
			m.host("node1").kill()
			d.Back()
			m.host("node1").start()
			m.until("it goes on", isOut("site", second, 1))
			m.holds("node1", "opt/site/index.html", "second")
		})
	}
}

// TestDiskOfTheControllerIsFull: with the controller's record on a full disk,
// status does not go on showing the last green line, and everything goes on when
// there is room.
func TestDiskOfTheControllerIsFull(t *testing.T) {
	t.Parallel()
	for name, what := range map[string]string{"the record": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := power.New(t, "32M")
			m := beginOn(t, options{programs: folder(t, programs)}, d, what)
			m.addBuilder("b1")
			m.addHost("node1")
			m.firstOut()
			free := d.Fill(0)
			second := m.forge.commit("site", files{"public/index.html": "second", "public/big": strings.Repeat("many words ", 1<<14)})
			s := m.until("the status says that something is wrong", func(s status.Status) string {
				if text := fmt.Sprintf("%+v %+v", s.Unwell, s.Modules); s.Unwell != nil || strings.Contains(text, "full") || strings.Contains(text, "no space") {
					return ""
				}
				return fmt.Sprintf("%+v", s)
			})
			t.Logf("%+v %+v", s.Unwell, s.Modules)
			free()
			m.until("it goes on by itself", isOut("site", second, 1))
			m.until("and is well", func(s status.Status) string {
				if s.Unwell != nil {
					return fmt.Sprintf("%+v", *s.Unwell)
				}
				return ""
			})
		})
	}
}

// beginOn is begin with a folder of the controller on a disk.
func beginOn(t *testing.T, opt options, d *power.Disk, folder string) *mesh {
	t.Helper()
	opt.on = func(m *mesh) {
		at := m.path("controller")
		if folder != "" {
			must(t, os.MkdirAll(at, 0o700))
			at = m.path("controller", folder)
		}
		must(t, os.Symlink(d.Dir, at))
	}
	m := begin(t, opt)
	t.Cleanup(func() { m.controller.kill() })
	return m
}

// whole fails the test where something published could not be pulled (I3).
func (m *mesh) whole() {
	m.t.Helper()
	var s invariant.Seen
	var err error
	if s.Registry, err = observe.Registry(m.path("controller", "registry")); err != nil {
		m.t.Fatal(err)
	}
	for _, f := range invariant.Always(s) {
		m.t.Error(f)
	}
}

// goesOn fails the test where the host does not apply what it has by itself, and say so.
func (m *mesh) goesOn(node, path, text string) {
	m.t.Helper()
	m.put(node, path, "somebody else's")
	m.poll("the host puts back what somebody changed", func() string {
		if got := m.read(node, path); got != text {
			return got
		}
		return ""
	})
}

// speaks is the fact that status is not green, and says all of these words.
func speaks(module string, words ...string) func(status.Status) string {
	return func(s status.Status) string {
		text := line(s, module)
		for _, u := range []*status.Unwell{s.Unwell, s.Registry} {
			if u != nil {
				text += "; unwell: " + u.Why
			}
		}
		for _, w := range words {
			if !strings.Contains(text, w) {
				return text
			}
		}
		return ""
	}
}

// large is a page and something that does not compress.
func large(text string) files {
	noise := make([]byte, 2<<20)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(noise)
	return files{"public/index.html": text, "public/big": base64.StdEncoding.EncodeToString(noise)}
}

// TestDiskOfALine: each disk of the line that is not a node's, full or shut in
// the middle of everything. Status says which and what to do, nothing is half
// published, hosts go on, and when there is room all of it goes on by itself.
func TestDiskOfALine(t *testing.T) {
	t.Parallel()
	const full, noInodes, readOnly = "no space left on device", "inodes", "mounted read-only"
	for name, c := range map[string]struct {
		at     []string // the folder that is a disk
		builds bool     // it is the builder's workshop
		size   string
		inodes string
		shut   bool
		words  []string
	}{
		"registry full":       {at: []string{"controller", "registry"}, size: "16M", words: []string{full, "free of"}},
		"registry no inodes":  {at: []string{"controller", "registry"}, size: "16M", inodes: "128", words: []string{full, noInodes}},
		"builder full":        {at: []string{"builders", "b1"}, size: "16M", words: []string{full, "free of"}},
		"builder no inodes":   {at: []string{"builders", "b1"}, size: "16M", inodes: "256", words: []string{full, noInodes}},
		"builder read-only":   {at: []string{"builders", "b1"}, size: "16M", shut: true, words: []string{readOnly}},
		"workshop full":       {at: []string{"workshop"}, size: "512M", builds: true, words: []string{"make room"}},
		"controller readonly": {at: []string{"controller"}, size: "64M", shut: true, words: []string{readOnly}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := power.New(t, c.size, inodes(c.inodes)...)
			must(t, os.Chmod(d.Dir, 0o755))
			m := begin(t, options{programs: folder(t, programs), drift: time.Second, patience: 3 * time.Minute, on: func(m *mesh) {
				at := m.path(c.at...)
				must(t, os.MkdirAll(filepath.Dir(at), 0o755))
				must(t, os.Symlink(d.Dir, at))
				if c.builds {
					m.opt.workshop = d.Dir + "/builds"
				}
			}})
			m.addBuilder("b1")
			m.addHost("node1")
			t.Cleanup(func() { // before the disk goes
				for _, p := range append(append([]*part{}, m.builders...), m.controller) {
					if p.running() {
						p.kill()
					}
				}
			})
			m.firstOut()
			back := d.Back
			switch {
			case c.shut:
				d.ReadOnly()
			case c.inodes != "":
				back = d.FillInodes()
			default:
				back = d.Fill(0)
			}
			second := m.forge.commit("site", large("second"))
			s := m.until("status says it", speaks("site", append(c.words, d.Dir)...))
			t.Log(speaks("site", "nothing of the kind")(s))
			if module := moduleOf(s, "site"); module.Out() && s.Unwell == nil && s.Registry == nil {
				t.Errorf("and it is green: %s", line(s, "site"))
			}
			m.whole()
			m.goesOn("node1", "opt/site/index.html", "first again")
			m.lacks("node1", "opt/site/big")
			if c.shut { // the kernel opens it to nobody but a new mount, which those who hold it must leave
				p := m.controller
				if c.at[0] == "builders" {
					p = m.builders[0]
				}
				p.kill()
				back()
				p.start()
			} else {
				back()
			}
			room := time.Now()
			// A build that met the full disk is tried again after a minute.
			m.until("all goes on by itself", isOut("site", second, 1))
			t.Logf("out %s after there was room", since(room))
			m.holds("node1", "opt/site/index.html", "second")
			m.until("and is well", func(s status.Status) string {
				if s.Unwell != nil || s.Registry != nil {
					return fmt.Sprintf("%+v %+v", s.Unwell, s.Registry)
				}
				return ""
			})
			m.sound()
		})
	}
}

func inodes(n string) []string {
	if n == "" {
		return nil
	}
	return []string{"-N", n}
}
