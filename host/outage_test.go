//go:build power

package host

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"noxmesh/declaration"
	"noxmesh/document"
	booted "noxmesh/internal/machine"
	"noxmesh/internal/power"
	"noxmesh/report"
)

// powered is a machine all of whose disks can lose their power: one for what it writes,
// and one for the host's state, so that what makes the one durable does nothing for the other.
type powered struct {
	*real
	story
	disks power.Disks
	last  []int64 // how often the disks were written to when they were looked at
	looks int
}

// TestPowerIsCutOnAMachine lets programs of a machine write what is declared, stops the host
// before each of its effects, and holds what a power cut would leave at that moment
// against what the host's record claims: the log lost, and the log just written. Then the
// power is cut after the report, and the machine boots from what is left.
func TestPowerIsCutOnAMachine(t *testing.T) {
	t.Parallel()
	if why := power.Able(); why != "" {
		t.Skip(why)
	}
	m := newPowered(t)
	points := map[power.Log]string{
		power.Lost:    "resource.image.seal#1:before",   // podman has an image, and nothing of what it is made of is on the disk
		power.Written: "resource.machine.seal#1:before", // all is done, and nothing of it was put on the disk
	}
	for _, log := range []power.Log{power.Written, power.Lost} {
		m.watched(t, m.steps[0], log, points[log])
		m.watched(t, m.steps[0], log, end)
		m.cut(t, m.steps[0], log)
		if log == power.Written {
			m.apply(t, nil)
			continue
		}
		for _, step := range m.steps[1:] {
			m.watched(t, step, log, end)
		}
	}
	t.Logf("%d power cuts", m.looks)
	if m.looks < 80 {
		t.Errorf("only %d power cuts: the effects are not all there", m.looks)
	}
}

func newPowered(t *testing.T) *powered {
	t.Helper()
	layers, state := power.New(t, "192M"), power.Blank(t, "24M")
	net, node := booted.RaiseOn(t, layers.Dir)
	b, err := os.ReadFile(program(t))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(node.Root, "usr/local/bin/mesh-host"), b, 0o755))
	folder := filepath.Join(node.Root, "var/lib/mesh-host")
	must(t, os.MkdirAll(folder, 0o700))
	m := &powered{real: &real{Machine: node, net: net, images: map[document.Digest]int64{}}, disks: power.Disks{layers, state.MountAt(t, folder)}}
	t.Cleanup(func() { must(t, m.PowerCut(context.WithoutCancel(t.Context()))) })
	m.on(t)
	m.depot(t)
	m.unit(t, "plain.service", "Type=oneshot", "RemainAfterExit=yes", "ExecStart=true")
	m.sh(t, "apt-get -q update; mkdir /root/stops; mkfifo /root/stops/at /root/stops/on; touch /etc/fstab; useradd --system foreign; sync")
	web := m.own(t, "web", drawn(t, "one", ""))
	first := list(
		group("team", "board", 712), user("user", declaration.Traits{Name: "board", UID: 713, Group: "board", Groups: []string{"audio"}}, "m/team"), user("shop", declaration.Traits{Name: "shop", UID: 714}),
		at("one", "1.0"), named("two"), service("plain", "plain.service", declaration.Running), hung("data", "/srv/data", "tmpfs", "tmpfs", "size=1M"),
		knob("ttl", "net.ipv4.ip_default_ttl", "65"), container("web", declaration.Traits{Image: web, Ports: []string{"8080:8000"}}), textFile("f", "/etc/f", "one"))
	then := slices.Clone(first)
	then[1] = user("user", declaration.Traits{Name: "board", Group: "board", Shell: "/bin/sh"}, "m/team")
	then[3], then[5] = at("one", "2.0"), service("plain", "plain.service", declaration.Stopped)
	then[6], then[7] = hung("data", "/srv/data", "tmpfs", "tmpfs", "size=2M"), knob("ttl", "net.ipv4.ip_default_ttl", "66")
	then[8], then[9] = container("web", declaration.Traits{Image: web, Ports: []string{"8080:8000"}, Env: map[string]string{"SAYS": "x"}}), textFile("f", "/etc/f", "two")
	m.story = m.real.story(t, [][]declaration.Resource{first, then, nil})
	return m
}

// on boots it. The kernel's settings are writable as far as they are the machine's own.
func (m *powered) on(t *testing.T) {
	t.Helper()
	m.MustBoot(t)
	m.sh(t, "mount --bind /proc/sys/net /proc/sys/net; mount -o remount,bind,rw /proc/sys/net")
}

// end is the point at which the host has said that all is applied.
const end = "end"

// watched applies a step, and looks before each effect, and at the end, at what a power cut
// leaves. At the last point the power is cut where that is not the end.
func (m *powered) watched(t *testing.T, step []declaration.Resource, log power.Log, last string) {
	t.Helper()
	at, on := filepath.Join(m.Root, "root/stops/at"), filepath.Join(m.Root, "root/stops/on")
	applied := make(chan string, 1)
	go func() {
		said, killed := "failed: there is no report", false
		defer func() { // also where it fails
			applied <- said
			if !killed {
				_ = os.WriteFile(at, []byte(end), 0) // somebody reads it
			}
		}()
		var rep report.Report
		if rep, killed = m.apply(t, step, "MESH_STOPS=/root/stops"); !killed {
			said = strings.TrimSpace(sketch(rep))
		} else {
			said = ""
		}
	}()
	for point := ""; point != last; {
		b, err := os.ReadFile(at)
		must(t, err)
		if point = string(b); point == end && last != end {
			t.Fatalf("it never comes to %s: %s", last, <-applied)
		}
		if log == power.Lost || !strings.HasPrefix(point, "keep.") && !strings.HasPrefix(point, "disk.") {
			m.look(t, step, log, point)
		}
		if point != last {
			must(t, os.WriteFile(on, nil, 0))
		}
	}
	if last != end {
		m.cut(t, step, log)
	}
	if said := <-applied; strings.Contains(said, "failed") {
		t.Fatal(said)
	}
}

// look holds what a power cut would leave at this moment against the record that is left with it.
func (m *powered) look(t *testing.T, step []declaration.Resource, log power.Log, point string) {
	t.Helper()
	images := m.snapshot(t, log)
	if images == nil {
		return // as the last time
	}
	m.looks++
	layers := images[0].Take(t, t.TempDir())
	inside, err := filepath.Rel(m.disks[0].Dir, m.Layers())
	must(t, err)
	root := t.TempDir()
	must(t, m.MountLayers(t.Context(), filepath.Join(layers.Dir, inside), root))
	state := images[1].Take(t, filepath.Join(root, "var/lib/mesh-host"))
	m.truthful(t, power.Cut{Point: point, Log: log}.String(), root, step)
	state.Drop()
	must(t, power.Unmount(root))
	layers.Drop()
}

// snapshot is the disks as a cut leaves them, with the log written where that is wanted.
func (m *powered) snapshot(t *testing.T, log power.Log) (images []power.Image) {
	t.Helper()
	if log == power.Written {
		for _, file := range []string{filepath.Join(m.disks[0].Dir, "touched"), filepath.Join(m.disks[1].Dir, "lock")} {
			f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o600)
			must(t, err)
			now := time.Now()
			must(t, os.Chtimes(file, now, now))
			must(t, f.Sync()) // which writes the log, with the names of all others and none of their bytes
			must(t, f.Close())
		}
	}
	images, m.last = m.disks.Snapshot(t, m.last)
	return images
}

// cut cuts the power. Then the machine boots, and all is there, or put right by the next pass,
// and nothing is claimed that is not so.
func (m *powered) cut(t *testing.T, step []declaration.Resource, log power.Log) {
	t.Helper()
	m.last = nil
	images := m.snapshot(t, log)
	must(t, m.PowerCut(t.Context()))
	m.disks[1].Off()
	must(t, m.Unmount())
	m.disks[0].Off()
	m.disks[0].On(images[0])
	must(t, m.Mount(t.Context()))
	m.disks[1].On(images[1])
	m.on(t)
	rep, _ := m.apply(t, step)
	m.truthful(t, "booted", m.Inside(), step)
	if rep.Outcome != report.OutcomeApplied {
		t.Errorf("booted: %s", sketch(rep))
	}
	if got := m.answers(t, 8080) + m.sh(t, "grpck -r; pwck -qr | grep -e board -e shop; dpkg --audit; cat /etc/f"); !strings.HasPrefix(got, "one|/contained serve|") || !strings.HasSuffix(got, "|one") {
		t.Errorf("booted: %s", got)
	}
	t.Logf("booted: %s", strings.ReplaceAll(strings.TrimSpace(sketch(rep)), "\n", ", "))
}
