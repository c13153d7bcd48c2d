//go:build power

package line

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"noxmesh/internal/power"
	"noxmesh/status"
)

// TestDiskOfANodeIsFull: the disk of a node is full, and then it fails. The
// report goes out and names the folder; what was there stays; when there is room
// it goes on by itself.
func TestDiskOfANodeIsFull(t *testing.T) {
	t.Parallel()
	for name, disk := range map[string]power.Image{"no room": power.Blank(t, "16M"), "no inodes": power.Blank(t, "16M", "-N", "96")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := begin(t, options{programs: folder(t, programs), drift: 2 * time.Second})
			must(t, os.MkdirAll(m.root("node1"), 0o755))
			d := disk.MountAt(t, m.root("node1"))
			t.Cleanup(func() { m.host("node1").kill() }) // before the disk goes
			m.addBuilder("b1")
			m.addHost("node1")
			m.module("site", site("site", "first"))
			m.assign("site", "node1")
			m.auto("site")
			first := m.forge.commit("site", files{"public/index.html": "first again"})
			m.until("the first is out", isOut("site", first, 1))
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
					if n.State == "failed" && strings.Contains(f.Error, "no space left") {
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
			m.module("site", site("site", "first"))
			m.assign("site", "node1")
			m.auto("site")
			first := m.forge.commit("site", files{"public/index.html": "first again"})
			m.until("the first is out", isOut("site", first, 1))
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
			m.module("site", site("site", "first"))
			m.assign("site", "node1")
			m.auto("site")
			first := m.forge.commit("site", files{"public/index.html": "first again"})
			m.until("the first is out", isOut("site", first, 1))
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
