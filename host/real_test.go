package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/internal/invariant"
	booted "noxmesh/internal/machine"
	"noxmesh/internal/observe"
	"noxmesh/report"
)

// real is a Debian that has booted, with our program on it. Many cases share one:
// each leaves it as it found it.
type real struct {
	*booted.Machine
	net        *booted.Net
	generation int64
	disk       bool                      // its state is on a disk of its own, whose power can be cut
	images     map[document.Digest]int64 // that containers of the mesh are made from, with the size of each manifest
	by         string                    // what runs containers on it
}

// boots is a machine for the cases of one test. Where none can be started that is
// said by name.
func boots(t *testing.T) *real {
	t.Helper()
	net, m := booted.Raise(t)
	return boot(t, net, m, "podman")
}

// boot boots a machine with our program on it, on which this runs containers.
func boot(t *testing.T, net *booted.Net, m *booted.Machine, by string) *real {
	t.Helper()
	b, err := os.ReadFile(program(t))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(m.Root, "usr/local/bin/mesh-host"), b, 0o755))
	m.MustBoot(t)
	return &real{Machine: m, net: net, images: map[document.Digest]int64{}, by: by}
}

// sh runs a line of shell on the machine, and gives what it wrote.
func (r *real) sh(t testing.TB, format string, args ...any) string {
	t.Helper()
	return r.Sh(t, format, args...)
}

// declared is a declaration of these resources, later than all before.
func (r *real) declared(t testing.TB, resources []declaration.Resource) string {
	t.Helper()
	r.generation++
	resources = slices.Clone(resources)
	b := bundled(t, r.generation, func(p *packer) []declaration.Resource {
		p.where.Blobs = map[document.Digest]declaration.Blob{}
		for digest, size := range r.images {
			p.where.Blobs[digest] = declaration.Blob{Repository: "m", Size: size}
		}
		for i, res := range resources {
			if text, ok := strings.CutPrefix(string(res.Digest), "text:"); ok {
				resources[i].Digest, resources[i].Size = p.file("x", res.Path, text).Digest, int64(len(text))
			}
		}
		return resources
	})
	text, err := os.ReadFile(b.file)
	must(t, err)
	return string(text)
}

// apply applies these resources, with what the crash runner is to do. Killed is
// whether it was.
func (r *real) apply(t testing.TB, resources []declaration.Resource, env ...string) (_ report.Report, killed bool) {
	t.Helper()
	text := r.declared(t, resources)
	env = append(append([]string{}, env...), "sh", "-c", "cat >/root/d.json && [ ! -d /root/blobs ] || set -- --blobs /root/blobs; exec mesh-host apply /root/d.json -o json \"$@\"", "sh")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := r.Command(ctx, "env", env...)
	cmd.Stdin = strings.NewReader(text)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() || exit.ExitCode() == 128+9 {
			return report.Report{}, true
		}
	} else {
		must(t, err)
	}
	var rep report.Report
	if err := json.Unmarshal(out, &rep); err != nil {
		t.Fatalf("%s: %s%s", err, out, said.String())
	}
	return rep, false
}

// sketch is the report in a line: each resource with its state, and what is said of it.
func sketch(r report.Report) string {
	var b strings.Builder
	for _, res := range r.Resources {
		fmt.Fprintf(&b, "%s %s", strings.TrimPrefix(res.ID, "m/"), res.State)
		if res.Error != "" {
			fmt.Fprintf(&b, " (%s)", res.Error)
		} else if res.Found != "" && res.State != report.StateChanged {
			fmt.Fprintf(&b, " [%s]", res.Found)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// says applies, and compares the report with these lines.
func (r *real) says(t testing.TB, resources []declaration.Resource, lines ...string) report.Report {
	t.Helper()
	rep, killed := r.apply(t, resources)
	if killed {
		t.Fatal("it was killed")
	}
	if got, want := sketch(rep), strings.Join(lines, "\n")+"\n"; got != want && (got != "" || len(lines) > 0) {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	return rep
}

// plans has the machine say what an apply would do, while nobody can write to it, and
// compares what it says.
func (r *real) plans(t testing.TB, resources []declaration.Resource, code int, lines ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := r.Command(ctx, "sh", "-c", `cat >/run/d.json && unshare -m sh -c 'mount --make-rprivate / && mount -o remount,bind,ro / && ! touch /x 2>/dev/null && mesh-host plan /run/d.json; echo $?'`)
	cmd.Stdin = strings.NewReader(r.declared(t, resources))
	out, err := cmd.CombinedOutput()
	must(t, err)
	if got, want := string(out), strings.Join(append(lines, fmt.Sprint(code)), "\n")+"\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// textFile is a file that holds this; its bytes go with the declaration.
func textFile(id, path, text string) declaration.Resource {
	return declaration.Resource{ID: "m/" + id, Type: declaration.File, Path: path, Mode: "0644", Digest: document.Digest("text:" + text)}
}

// ownDisk puts the host's state on a file system of its own.
func (r *real) ownDisk(t testing.TB) {
	t.Helper()
	if r.disk {
		return
	}
	r.disk = true
	r.sh(t, `mknod /dev/loop-control c 10 237; for i in $(seq 0 63); do mknod /dev/loop$i b 7 $i; done
truncate -s 32M /root/state.img && mkfs.ext4 -q /root/state.img && mount -o loop /root/state.img /mnt
mkdir -p /var/lib/mesh-host && cp -a /var/lib/mesh-host/. /mnt/ && umount /mnt && mount -o loop /root/state.img /var/lib/mesh-host`)
}

// dies kills the program at this point. After an effect the power of its state's
// disk goes with it: what it had not synced of what it knows is lost, and what it
// has done to the machine is not. The next effect's "before" is the same moment
// without that. It returns whether it came to the point.
func (r *real) dies(t testing.TB, step []declaration.Resource, point string) bool {
	t.Helper()
	env := []string{"MESH_CRASH=" + point}
	cut := strings.HasSuffix(point, ":after")
	if cut {
		env = append(env, "MESH_POWER=/var/lib/mesh-host")
	}
	_, killed := r.apply(t, step, env...)
	if killed && cut {
		r.sh(t, "umount /var/lib/mesh-host && mount -o loop /root/state.img /var/lib/mesh-host")
	}
	return killed
}

// sweep kills the program before and after each effect of the steps that has one
// of these prefixes, and applies the step again: then all must be as if nothing had
// happened, which is told by facts. The steps come one after another, the last of them
// is that nothing is declared, and they come again until each of their effects was the
// last one.
func (r *real) sweep(t *testing.T, prefixes []string, facts func(t testing.TB) string, steps ...[]declaration.Resource) {
	t.Helper()
	r.ownDisk(t)
	steps = append(steps, nil)
	want, kills, n := make([]string, len(steps)), make([][]string, len(steps)), 0
	told := r.story(t, steps)
	for i, step := range steps {
		r.sh(t, "rm -f /root/effects")
		rep, _ := r.apply(t, step, "MESH_EFFECTS=/root/effects")
		if rep.Outcome != report.OutcomeApplied {
			t.Fatalf("step %d: %s", i, sketch(rep))
		}
		want[i] = facts(t)
		for _, e := range strings.Fields(r.sh(t, "cat /root/effects")) {
			if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(e, p) }) {
				kills[i] = append(kills[i], e+":before", e+":after")
				n += 2
			}
		}
	}
	t.Logf("%d kills", n)
	for n > 0 {
		for i, step := range steps {
			point := ""
			if len(kills[i]) > 0 {
				point, kills[i] = kills[i][0], kills[i][1:]
				n--
				if !r.dies(t, step, point) {
					t.Errorf("step %d, %s: it was not killed", i, point)
				}
				told.truthful(t, point, r.Inside(), step)
			}
			rep, _ := r.apply(t, step)
			told.truthful(t, point, r.Inside(), step)
			if got := facts(t); got != want[i] || rep.Outcome != report.OutcomeApplied {
				t.Fatalf("step %d, %s:\n%sgot\n%s\nwant\n%s", i, point, sketch(rep), got, want[i])
			}
		}
	}
}

// story is steps that are declared one after another, and what is on the machine that none
// of them declares: nobody's to touch.
type story struct {
	steps  [][]declaration.Resource
	others map[string]observe.Facts
}

func (r *real) story(t testing.TB, steps [][]declaration.Resource) story {
	t.Helper()
	all, err := observe.Subjects(r.Inside())
	must(t, err)
	for _, res := range slices.Concat(steps...) {
		delete(all, res.Subject())
	}
	return story{steps, all}
}

// truthful is that the host's record claims nothing of the machine at this root that does not
// lie on its disk, and that what is others' is as it was. What the step no longer declares
// is removed first and then struck out.
func (s story) truthful(t testing.TB, point, root string, step []declaration.Resource) {
	t.Helper()
	n, err := observe.Node(root, slices.Concat(s.steps...)...)
	must(t, err)
	for i, thing := range n.Things {
		declared := slices.ContainsFunc(step, func(r declaration.Resource) bool { return r.ID == thing.Resource })
		n.Things[i].Touched = !declared && thing.Resource != ""
	}
	are, err := observe.Subjects(root)
	must(t, err)
	for subject, was := range s.others {
		n.Foreign = append(n.Foreign, invariant.Foreign{Path: subject, Put: was.String(), Found: are[subject].String()})
	}
	for _, f := range invariant.Always(invariant.Seen{Nodes: []invariant.Node{n}}) {
		t.Errorf("%s: %s", point, f)
	}
}

// turn is one case of several that share a machine: they come one after another.
func (r *real) turn(t *testing.T, name string, do func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		began := time.Now()
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("the machine's journal says\n%s", r.journal(t, began))
			}
		})
		do(t)
	})
}

// journal is the end of what the machine's journal has had since then. A test that asks
// for it has failed, so what stands against it is no failure of its own.
func (r *real) journal(t testing.TB, since time.Time) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	out, err := r.Exec(ctx, "journalctl", "--no-pager", "--output=short-precise", "--lines=200", fmt.Sprintf("--since=@%d", since.Unix()))
	if err != nil {
		return err.Error()
	}
	return out
}

// sorted is the lines of a text in their order.
func sorted(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
