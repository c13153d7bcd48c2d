package builder

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"noxmesh/builder/gateway"
	"noxmesh/builder/rootfs"
	"noxmesh/builder/supply"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// sandbox runs a module's commands where they reach nothing but their own tree:
// new user, process, mount, network, name and IPC spaces by bubblewrap, no
// capability, no way to get one, everything else read-only. When the last
// command ends, whatever it left running has ended as well.
type sandbox struct {
	program    string // bwrap
	etc        string // the few files of /etc that are ours
	groups     groups // what the machine gives to bound all processes together
	noUserns   bool   // bubblewrap can forbid further user namespaces
	processors int
}

// sandboxDate is the time that every build is made at: the earliest that every
// archive format can hold. A build is named by its tree, so it may not see when
// that tree was committed.
const sandboxDate = 315532800 // 1980-01-01

// bwrap exits on its own within this time after its command; so does all that
// the command left running.
const settleTime = 10 * time.Second

// order is one command in a sandbox.
type command struct {
	argv   []string
	tree   string      // becomes /build
	as     *user       // outside of the sandbox; nil: this user
	laid   laid        // beside it
	root   rootfs.Root // below it; of no image: this machine's programs
	limits Limits
	most   time.Duration // processor time of one process
	out    io.Writer     // both of its outputs

	stage string      // in place of tree, laid and root: what is below it, to be written to
	at    string      // then: where it runs
	env   [][2]string // then: what it is told of its surroundings

	network *gateway.Gateway // nil: none
	depends *supply.Session  // where there is no network: what the lock files name; nil: nothing

	below  []string // bubblewrap's words for root
	files  []string // likewise for what is there of what it takes from outside
	before []string // the words before its own
}

// run runs c and gives its exit status. An error is a limit that it met, or never
// about the command: it is the sandbox that could not be made or was taken away.
func (s *sandbox) run(ctx context.Context, c command) (code int, err error) {
	box, err := s.groups.open(c.limits)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, box.close()) }()
	// The kernel ends a sandbox with the thread that began it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := keepFilesHere(); err != nil {
		return 0, err
	}
	p, err := openPipes()
	if err != nil {
		return 0, err
	}
	defer p.close()
	if err := s.equip(p, &c); err != nil {
		return 0, err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	last := &lastBytes{w: c.out}
	cmd := exec.CommandContext(ctx, s.program, append(p.args(), s.args(c)...)...)
	cmd.Env = []string{}
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = last, last
	cmd.ExtraFiles = p.theirs
	cmd.WaitDelay = settleTime
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if c.as != nil {
		cmd.SysProcAttr.Credential = c.as.Credential
	}
	var said status
	err = effect.Do("builder.command.run", func() (err error) { //nolint:contextcheck // who watches it goes on when ctx has ended, until all of it is gone
		said, err = p.through(cmd, box, end)
		return err
	})
	if over := box.over(); over != nil {
		return 0, errors.Join(over, waitGone(said.Pid))
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && ctx.Err() == nil {
		return 0, fault.Wrap(fault.Unavailable, err, "make a sandbox").With("%s", remedy)
	}
	if shut := p.door.shut(); shut != nil && ctx.Err() == nil {
		return 0, fault.Add(errors.Join(shut, waitGone(said.Pid)), "%s", cmp.Or(last.lines(), "make a sandbox"))
	}
	return ended(ctx, said, last)
}

// equip says what a command has below it and beside it.
func (s *sandbox) equip(p *pipes, c *command) error {
	beside, err := p.show(c)
	if err != nil {
		return err
	}
	if c.below, err = s.mountsOf(c.root, append(beside, slices.Collect(maps.Keys(c.laid.top))...)); err != nil {
		return err
	}
	c.before, err = p.openDoor(c.server())
	return err
}

// keepFilesHere lets no open file go into a sandbox. Go's own never do, but
// whoever started the builder may have left it some.
func keepFilesHere() error {
	err := unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	all, err := os.ReadDir("/proc/self/fd") // a kernel before 5.11
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "close what a sandbox must not have")
	}
	for _, e := range all {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
	return nil
}

// ended is what became of a sandbox whose program has ended, once nothing of it is left.
func ended(ctx context.Context, said status, last *lastBytes) (int, error) {
	if err := waitGone(said.Pid); err != nil {
		return 0, err
	}
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case said.Exit != nil:
		return *said.Exit, nil
	}
	why := last.lines()
	if why == "" {
		why = "it was killed"
	}
	return 0, fault.New(fault.Unavailable, "the sandbox ended by itself: %s", why).With("%s", remedy)
}

// inside is the script that is between bwrap and the command: it takes the
// limits on, so that neither can the builder's own be in the way nor can the
// command leave them, and lets the kernel take a build first when memory is short.
const inside = `umask 022
{ echo 1000 >/proc/self/oom_score_adj
ulimit -c 0
ulimit -n "$1"
ulimit -f "$2"
ulimit -t "$3"
ulimit -u "$4" || ulimit -p "$4"
} 2>/dev/null
shift 4
exec "$@"`

func (s *sandbox) args(c command) []string {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	size := number(c.limits.Temporary)
	a := []string{
		"--unshare-all", "--unshare-user", "--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL",
		"--hostname", "build",
	}
	if s.noUserns {
		a = append(a, "--disable-userns")
	}
	devices := []string{"--proc", "/proc", "--dev", "/dev", "--size", "67108864", "--tmpfs", "/dev/shm", "--remount-ro", "/dev"}
	var env [][2]string
	if c.stage != "" {
		a = append(append(append(a, "--uid", "0", "--gid", "0", "--bind", c.stage, "/"), devices...), "--chdir", c.at)
		env = append(append(sandboxEnvironment(), [][2]string{{"HOME", "/root"}, {"USER", "root"}}...), c.env...)
	} else {
		a = append(append(append(a, "--uid", "1000", "--gid", "1000"), c.below...), devices...)
		a = append(a, "--size", size, "--perms", "1777", "--tmpfs", "/tmp", "--dir", "/home", "--size", size, "--tmpfs", "/home/build",
			"--bind", c.tree, "/build", "--chdir", "/build")
		a = append(append(append(a, c.laid.mounts()...), c.files...), "--remount-ro", "/")
		env = slices.Concat(environmentOf(c.root), c.laid.env)
	}
	if c.network != nil {
		env = append(env, proxies()...)
	} else {
		env = append(env, c.depends.Env()...)
	}
	for _, e := range env {
		a = append(a, "--setenv", e[0], e[1])
	}
	seconds := int64(c.most/time.Second+1) * int64(s.processors)
	a = append(append(a, "--"), c.before...)
	a = append(a, "/bin/sh", "-c", inside, "sh",
		number(c.limits.OpenFiles), number(c.limits.FileSize/512), number(seconds), number(c.limits.Processes))
	return append(a, c.argv...)
}

// sandboxEnvironment is all that a command is told of its surroundings.
func sandboxEnvironment() [][2]string {
	return [][2]string{
		{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/go/bin"},
		{"HOME", "/home/build"},
		{"USER", "build"},
		{"LANG", "C.UTF-8"},
		{"LC_ALL", "C.UTF-8"},
		{"TZ", "UTC"},
		{"SOURCE_DATE_EPOCH", strconv.Itoa(sandboxDate)},
	}
}

// systemMounts are the system's programs, read-only.
func systemMounts() []string {
	a := []string{"--ro-bind", "/usr", "/usr"}
	for _, dir := range []string{"bin", "sbin", "lib", "lib32", "lib64", "libx32"} {
		if to, err := os.Readlink("/" + dir); err == nil {
			a = append(a, "--symlink", strings.TrimPrefix(to, "/"), "/"+dir)
		} else if _, err := os.Lstat("/" + dir); err == nil {
			a = append(a, "--ro-bind", "/"+dir, "/"+dir)
		}
	}
	return a
}

// etcMounts are what programs look for in /etc and that says nothing of the machine.
func (s *sandbox) etcMounts() []string {
	a := []string{}
	for _, name := range []string{"passwd", "group", "hosts", "nsswitch.conf"} {
		a = append(a, "--ro-bind", s.etc+"/"+name, "/etc/"+name)
	}
	for _, name := range []string{"alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ssl/certs", "ssl/openssl.cnf", "ca-certificates.conf", "mime.types"} {
		a = append(a, "--ro-bind-try", "/etc/"+name, "/etc/"+name)
	}
	for _, file := range javaFiles("/etc") {
		a = append(a, "--ro-bind-try", file, file)
	}
	return a
}

// javaFiles are those without which no Java starts where the system keeps them
// below etc, and its own folder has links to them. What is there for remote
// management is left out: it has passwords.
func javaFiles(etc string) []string {
	all := []string{}
	for _, pattern := range []string{"java*-openjdk*/*.properties", "java*-openjdk*/*.cfg", "java*-openjdk*/security", "java*-openjdk*/jfr"} {
		found, _ := filepath.Glob(filepath.Join(etc, pattern)) // the pattern is right
		all = append(all, found...)
	}
	return all
}
