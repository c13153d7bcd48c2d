package system

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"noxmesh/internal/fault"
)

// farWait is how long a file system that is elsewhere has to answer one question.
const farWait = 5 * time.Second

// far is a mounted file system that is on another machine, or another program's: it
// may not answer, and whoever asks it anything then waits for ever. So it is asked
// beside first, by somebody who has nothing else to do.
type far struct {
	kind    string
	asked   chan struct{} // closed with its answer; nil where nothing is asked
	answers bool          // it has answered since Meet
}

// isFar reports whether a file system of this type may not answer.
func isFar(kind string) bool {
	kind, _, _ = strings.Cut(kind, ".") // fuse.sshfs
	switch kind {
	case "nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "9p", "ceph", "glusterfs", "lustre", "beegfs", "gfs2", "ocfs2", "orangefs", "virtiofs", "fuse", "autofs":
		return true
	}
	return false
}

// Meet learns which file systems below the root are far. Each is asked once more when
// something in it is reached.
func (r *Root) Meet() {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return // what is known stays known
	}
	top := r.dir
	if real, err := filepath.EvalSymlinks(top); err == nil {
		top = real
	}
	now := map[string]*far{}
	for line := range strings.Lines(string(text)) {
		at, kind, ok := mounted(line)
		if at, below := within(top, at); ok && below && isFar(kind) {
			f := r.far[at]
			if f == nil || f.kind != kind {
				f = &far{kind: kind}
			}
			f.answers = false
			now[at] = f
		}
	}
	r.far = now
}

// within is a path of the machine as one below the folder top, where it is.
func within(top, p string) (string, bool) {
	if top == "/" {
		return p, p != "/"
	}
	p, below := strings.CutPrefix(p, top+"/")
	return "/" + p, below
}

// mounted is where a line of mountinfo says that something is mounted, and of which type.
func mounted(line string) (at, kind string, ok bool) {
	before, after, ok := strings.Cut(line, " - ")
	fields, types := strings.Fields(before), strings.Fields(after)
	if !ok || len(fields) < 5 || len(types) < 1 {
		return "", "", false
	}
	at = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(fields[4])
	return at, types[0], true
}

// Far reports whether any file system below the root may not answer.
func (r *Root) Far() bool { return len(r.far) > 0 }

// Answers is why the file system that is mounted at this path is not to be touched, or
// nil. A path at which none is answers.
func (r *Root) Answers(p string) error {
	f := r.far[p]
	if f == nil || f.answers {
		return nil
	}
	wait := farWait
	if f.asked == nil {
		f.asked = make(chan struct{})
		go ask(filepath.Join(r.dir, p), f.asked) // it ends when it is answered, or what it asks is unmounted
	} else {
		wait = 0 // it had its time
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-f.asked:
	default:
		select {
		case <-f.asked:
		case <-timer.C:
			return fault.New(fault.Conflict, "the file system at %q (%s) does not answer", p, f.kind).
				With("see why whoever has it does not, or let go of it with umount -l %s", p)
		}
	}
	f.asked, f.answers = nil, true
	return nil
}

// ask asks a file system something that it cannot answer from memory. What the
// answer is, whoever wanted to know something of it will see.
func ask(p string, answered chan struct{}) {
	var fs unix.Statfs_t
	_ = unix.Statfs(p, &fs)
	if fd, err := openat(unix.AT_FDCWD, p, unix.O_RDONLY|unix.O_DIRECTORY, 0); err == nil {
		_ = unix.Close(fd)
	}
	close(answered)
}
