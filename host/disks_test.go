package host

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/report"
)

// disk is a folder that plays a machine, on an ext4 of its own.
type disk struct {
	t          testing.TB
	root       string
	generation int64
}

// newDisk mounts one, in a mount namespace that only the thread of this test has, and
// what it starts: there the test mounts what it likes, and nobody else sees it.
func newDisk(t *testing.T) *disk {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("not root: only root may mount a file system")
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		t.Skip("there are no loop devices")
	}
	program(t) // is built where everybody may have it
	d := &disk{t: t, root: t.TempDir()}
	runtime.LockOSThread() // and never unlocked: the namespace ends with the thread
	must(t, unix.Unshare(unix.CLONE_NEWNS|unix.CLONE_FS))
	must(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	image := filepath.Join(memory(t), "image")
	d.run("truncate", "-s", "16M", image)
	d.run("mkfs.ext4", "-q", "-F", "-m", "0", "-N", "512", image)
	d.run("mount", "-o", "loop", image, d.root)
	t.Cleanup(func() { d.run("umount", "-R", d.root) })
	return d
}

func (d *disk) run(name string, args ...string) string {
	d.t.Helper()
	cmd := exec.CommandContext(d.t.Context(), name, args...)
	if d.t.Context().Err() != nil {
		cmd = exec.Command(name, args...)
	}
	if name == "sh" {
		cmd.Dir = d.root
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// sh runs lines of shell in the root.
func (d *disk) sh(lines string) string { d.t.Helper(); return d.run("sh", "-ec", lines) }

// apply is the report of one apply.
func (d *disk) apply(fill func(*packer) []declaration.Resource, env ...string) report.Report {
	d.t.Helper()
	d.generation++
	b := bundled(d.t, d.generation, fill)
	cmd := exec.CommandContext(d.t.Context(), program(d.t), "apply", b.file, "--blobs", b.blobs, "--root", d.root, "-o", "json")
	cmd.Env = append(os.Environ(), env...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		d.t.Fatal(err)
	}
	var r report.Report
	if err := json.Unmarshal(out, &r); err != nil {
		d.t.Fatalf("%v: %s%s", err, out, said.String())
	}
	return r
}

// sizeless is what is said without where the disk is mounted and how large it is.
func (d *disk) sizeless(said string) string {
	said = strings.ReplaceAll(said, d.root, "ROOT")
	return regexp.MustCompile(`(less than 1|\d+) MiB free of (less than 1|\d+) MiB`).ReplaceAllString(said, "FREE of SIZE")
}

// An obstacle is one thing that stands in the way: what somebody has done, what the host says
// of it, and what they do about it then.
type obstacle struct {
	name, before string
	declared     func(*packer) []declaration.Resource
	says         string
	after        string // empty: it is moved away
}

func oneFile(p *packer) []declaration.Resource { return list(p.file("f", "/d/f", "new")) }

func oneFolder(p *packer) []declaration.Resource { return list(p.directory("d", "/d/x")) }

func oneLink(p *packer) []declaration.Resource { return list(p.link("l", "/d/l", "x")) }

func oneArchive(p *packer) []declaration.Resource {
	return list(p.archive("a", "/d/a", map[string]string{"in/x": "x", "y": "y"}))
}

// large is a file of some mebibytes.
func large(size int) func(*packer) []declaration.Resource {
	return func(p *packer) []declaration.Resource {
		r := p.file("f", "/d/f", "x")
		r.Digest, r.Size = p.blob(make([]byte, size<<20)), int64(size)<<20
		p.where.Blobs = map[document.Digest]declaration.Blob{r.Digest: {Repository: "m", Size: r.Size}}
		return list(r)
	}
}

func fileCalled(name string) func(*packer) []declaration.Resource {
	return func(p *packer) []declaration.Resource { return list(p.file("f", "/d/"+name, "new")) }
}

func inTheWay() []obstacle {
	long := strings.Repeat("n", 256)
	return []obstacle{
		{"an immutable file", "echo old >d/f; chattr +i d/f", oneFile, `f failed (replace "/d/f": "/d/f" is immutable; chattr -i /d/f undoes that)`, "chattr -i d/f"},
		{"an immutable file with another mode", "printf new >d/f; chmod 600 d/f; chattr +i d/f", oneFile, `f failed (replace "/d/f": "/d/f" is immutable; chattr -i /d/f undoes that)`, "chattr -i d/f"},
		{"an append-only file", "echo old >d/f; chattr +a d/f", oneFile, `f failed (replace "/d/f": "/d/f" is append-only; chattr -a /d/f undoes that)`, "chattr -a d/f"},
		{"an immutable folder", "chattr +i d", oneFile, `f failed (replace "/d/f": "/d" is immutable; chattr -i /d undoes that)`, "chattr -i d"},
		{"an append-only folder", "chattr +a d", oneFile, `f failed (replace "/d/f": "/d" is append-only; chattr -a /d undoes that)`, "chattr -a d"},
		{"a file in an append-only folder", "echo old >d/f; chattr +a d", oneFile, `f failed (replace "/d/f": "/d" is append-only; chattr -a /d undoes that)`, "chattr -a d"},
		{"a folder in an immutable folder", "chattr +i d", oneFolder, `d failed (replace "/d/x": "/d" is immutable; chattr -i /d undoes that)`, "chattr -i d"},
		{"an immutable folder with another mode", "mkdir d/x; chattr +i d/x", oneFolder, `d failed (replace "/d/x": "/d/x" is immutable; chattr -i /d/x undoes that)`, "chattr -i d/x"},
		{"a link in an append-only folder", "chattr +a d", oneLink, `l failed (replace "/d/l": "/d" is append-only; chattr -a /d undoes that)`, "chattr -a d"},
		{"an append-only folder of an archive", "mkdir -p d/a/in; chattr +a d/a/in", oneArchive, `a failed (replace "/d/a/in/x": "/d/a/in" is append-only; chattr -a /d/a/in undoes that)`, "chattr -a d/a/in"},

		{"a file that is a mount", "touch d/f; echo other >o; mount --bind o d/f", oneFile, `f failed (replace "/d/f": something is mounted at "/d/f"; umount /d/f, or declare another path)`, "umount d/f; rm o"},
		{"a mount where a file should be", "mkdir d/f; mount -t tmpfs none d/f", oneFile, `f failed (replace "/d/f": something is mounted at "/d/f"; umount /d/f, or declare another path)`, "umount d/f"},
		{"a mount where a link should be", "mkdir d/l; mount -t tmpfs none d/l", oneLink, `l failed (replace "/d/l": something is mounted at "/d/l"; umount /d/l, or declare another path)`, "umount d/l"},
		{"a mount below where a file should be", "mkdir -p d/f/x; mount -t tmpfs none d/f/x", oneFile, `f failed (replace "/d/f": a directory is there that holds x, which the host did not make: directory not empty; move it away)`, "umount d/f/x; rmdir d/f/x"},

		{"read-only", "mount -t tmpfs none d; mount -o remount,ro d", oneFile, `f failed (write "/d/f": read-only file system: "ROOT/d" is mounted read-only; dmesg may say why, then: mount -o remount,rw ROOT/d)`, "mount -o remount,rw d"},
		{"full", "mount -t tmpfs -o size=8k none d; echo old >d/f; head -c 4096 /dev/zero >d/x", oneFile, `f failed (write "/d/f": it takes 4096 bytes: no space left on device: FREE of SIZE on "ROOT/d"; make room there)`, "rm d/x"},
		{"larger than what is free", "echo old >d/f", large(40), `f failed (write "/d/f": it takes 40 MiB: no space left on device: FREE of SIZE on "ROOT"; make room there)`, "mount -t tmpfs none d"},
		{"no inodes", "mount -t tmpfs -o nr_inodes=2 none d; touch d/x", oneFile, `f failed (write "/d/f": it takes an inode, and 0 are free: no space left on device: hardly any of the 2 inodes of "ROOT/d" is free; remove files there)`, "rm d/x"},

		{"a folder where a file should be", "mkdir -p d/f/x", oneFile, `f failed (replace "/d/f": a directory is there that holds x, which the host did not make: directory not empty; move it away)`, ""},
		{"a file where a folder should be", "touch d/x", oneFolder, `d failed (replace "/d/x": a file is there that the host did not make; move it away)`, ""},
		{"a link where a folder should be", "ln -s . d/x", oneFolder, `d failed (replace "/d/x": a link is there that the host did not make; move it away)`, ""},
		{"a FIFO", "mkfifo d/f", oneFile, `f failed (replace "/d/f": a device, socket or FIFO is there; move it away)`, ""},
		{"a device", "mknod d/x c 1 3", oneFolder, `d failed (replace "/d/x": a device, socket or FIFO is there; move it away)`, ""},
		{"a file on the way", "rmdir d; touch d", oneFile, `f failed (replace "/d/f": not a directory: "/d" is a file; move it away, or declare another path)`, ""},
		{"a FIFO on the way", "rmdir d; mkfifo d", oneFile, `f failed (replace "/d/f": not a directory: "/d" is a device, socket or FIFO; move it away, or declare another path)`, ""},
		{"a link that leads nowhere on the way", "rmdir d; ln -s e d", oneFile, `f failed (replace "/d/f": "/d" is a link that leads nowhere, which the host did not make; remove it, or make what it leads to)`, ""},
		{"a link that leads to a file on the way", "rmdir d; touch e; ln -s e d", oneFile, `f failed (replace "/d/f": not a directory: "/d" is a link to something else; move it away, or declare another path)`, ""},
		{"a link that leads to itself on the way", "rmdir d; ln -s d d", oneFile, `f failed (look at "/d/f": too many levels of symbolic links: "/d" is a link that leads to itself; remove it, or declare another path)`, ""},
		{"a name that is too long", "true", fileCalled(long), `f failed (look at "/d/` + long + `": file name too long: a name in it has 256 bytes; declare one of at most 255)`, "cannot"},
		{"a name on the way that is too long", "true", fileCalled(long + "/f"), `f failed (look at "/d/` + long + `/f": file name too long: a name in it has 256 bytes; declare one of at most 255)`, "cannot"},
	}
}

// TestWhatStandsInTheWayIsNamed: each is said with what it is and what to do about it,
// nothing at all is written, and what was there stays; and when it is done, all is well.
func TestWhatStandsInTheWayIsNamed(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	const all = `find d -printf '%p %y %m %l %i ' \( -type d -printf '\n' -o -printf '%s %C@\n' \) 2>/dev/null | sort; find . -name '.mesh-new*'`
	for _, c := range inTheWay() {
		d.sh("mkdir d; " + c.before)
		before := d.sh(all)
		said := d.sizeless(sketch(d.apply(c.declared)))
		if said != c.says+"\n" {
			t.Errorf("%s: it says\n%swant\n%s", c.name, said, c.says)
		}
		if after := d.sh(all); after != before {
			t.Errorf("%s: before\n%s\nand after\n%s", c.name, before, after)
		}
		switch c.after {
		case "cannot":
		case "":
			d.sh("rm -rf d; mkdir d")
			fallthrough
		default:
			d.sh("true;" + c.after)
			if r := d.apply(c.declared); r.Outcome != report.OutcomeApplied {
				t.Errorf("%s: afterwards %s", c.name, sketch(r))
			}
		}
		d.apply(func(*packer) []declaration.Resource { return nil })
		d.sh("if mountpoint -q d; then umount d; fi; rm -rf d e")
	}
}

// What stands in the way of a removal is named too, and it is tried again.
func TestWhatCannotBeRemovedIsNamed(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	none := func(*packer) []declaration.Resource { return nil }
	for _, c := range []obstacle{
		{"an immutable file", "chattr +i d/f", oneFile, `f failed (remove "/d/f": operation not permitted: "/d/f" is immutable; chattr -i /d/f undoes that)`, "chattr -i d/f"},
		{"a folder that is only appended to", "chattr +a d", oneFile, `f failed (remove "/d/f": operation not permitted: "/d" is append-only; chattr -a /d undoes that)`, "chattr -a d"},
		{"something is mounted at it", "mount -t tmpfs none d/x", oneFolder, `d failed (remove "/d/x": device or resource busy: something is mounted at "/d/x"; umount /d/x, or declare another path)`, "umount d/x"},
		{"read-only", "mount -o remount,ro .", oneFile, `cannot`, "mount -o remount,rw ."},
	} {
		d.sh("mkdir d")
		d.apply(c.declared)
		d.sh(c.before)
		if c.says != "cannot" {
			if said := sketch(d.apply(none)); said != c.says+"\n" {
				t.Errorf("%s: it says\n%swant\n%s", c.name, said, c.says)
			}
		}
		d.sh(c.after)
		d.apply(none)
		if left := d.sh("ls -A d"); left != "" {
			t.Errorf("%s: there is still %s", c.name, left)
		}
		d.sh("rm -rf d")
	}
}

// What only some disks meet is met by its number.
func TestWhatADiskRefusesIsNamed(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	d.sh("mkdir d; echo old >d/f")
	for no, want := range map[string]string{
		"EDQUOT": `disk quota exceeded: a quota on "ROOT" is used up; raise it or remove files there`,
		"EIO":    `input/output error: the disk under "ROOT" does not read or write; dmesg says why`,
		"ENOSPC": `no space left on device: FREE of SIZE on "ROOT"; make room there`,
	} {
		said := d.sizeless(sketch(d.apply(oneFile, "MESH_FAIL=resource.file.stage#1:"+no)))
		if want := `f failed (write "/d/f": resource.file.stage: ` + want + ")\n"; said != want {
			t.Errorf("%s: it says\n%swant\n%s", no, said, want)
		}
		if got := d.sh("cat d/f; ls -A d"); got != "old\nf" {
			t.Errorf("%s: there is %s", no, got)
		}
	}
}
