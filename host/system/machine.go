package system

import (
	"bufio"
	"bytes"
	"cmp"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"noxmesh/report"
)

// What a machine says of itself at most.
const (
	mostDisks     = 32
	mostAddresses = 64
	mostPath      = 1 << 10
	mebibyte      = 1 << 20
)

// machine is what there is to say of a whole machine beside its capabilities: what
// stays as it is for as long as nobody changes the machine, so that it is told once.
// Whatever the machine does not tell is left out.
func (r *Root) machine() *report.Machine {
	if r.within == "" {
		r.within = bounded(r.virtual())
	}
	m := report.Machine{System: bounded(r.release()), Virtual: r.within, Disks: disks("/proc/self/mountinfo"), Addresses: addresses()}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		m.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	var s unix.Sysinfo_t
	if unix.Sysinfo(&s) == nil {
		m.Memory = int64(s.Totalram) * int64(s.Unit) / mebibyte * mebibyte
	}
	return &m
}

// bounded is text of the machine's as a report takes it.
func bounded(text string) string {
	const most = 200
	return strings.ToValidUTF8(text[:min(len(text), most)], "\ufffd")
}

// release is what the system calls itself.
func (r *Root) release() string {
	for _, file := range []string{"/etc/os-release", "/usr/lib/os-release"} {
		text, err := r.Text(file, mebibyte)
		if err != nil {
			continue
		}
		for line := range strings.Lines(text) {
			if name, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
				if plain, err := strconv.Unquote(name); err == nil {
					return plain
				}
				return strings.Trim(name, `'"`)
			}
		}
	}
	return ""
}

// virtual is what the machine is within: a container by the name of what runs it, a
// virtual machine by its maker; "none" where neither shows.
func (r *Root) virtual() string {
	if text, err := r.Text("/run/systemd/container", 256); err == nil && strings.TrimSpace(text) != "" {
		return strings.TrimSpace(text)
	}
	for _, file := range []string{"sys_vendor", "product_name", "board_vendor"} {
		text, err := os.ReadFile("/sys/class/dmi/id/" + file)
		if err != nil {
			continue
		}
		if name := hypervisor(string(text)); name != "" {
			return name
		}
	}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil && strings.Contains(string(text), " hypervisor") {
		return "virtual"
	}
	return "none"
}

// hypervisor is the one that a text of the firmware's speaks of.
func hypervisor(text string) string {
	for _, known := range []struct{ says, name string }{
		{"QEMU", "qemu"},
		{"KVM", "kvm"},
		{"VMware", "vmware"},
		{"VirtualBox", "virtualbox"},
		{"innotek", "virtualbox"},
		{"Xen", "xen"},
		{"Virtual Machine", "hyper-v"},
		{"Amazon EC2", "amazon"},
		{"Google", "google"},
		{"OpenStack", "openstack"},
		{"Parallels", "parallels"},
		{"bhyve", "bhyve"},
	} {
		if strings.Contains(text, known.says) {
			return known.name
		}
	}
	return ""
}

// disks is the file systems that lie on a device, each once, and the root, whatever
// that lies on.
func disks(mountinfo string) []report.Disk {
	file, err := os.Open(mountinfo)
	if err != nil {
		return nil
	}
	defer file.Close()
	var all []report.Disk
	seen := map[string]bool{}
	for lines := bufio.NewScanner(file); lines.Scan() && len(all) < mostDisks; {
		line := lines.Bytes()
		if !bytes.Contains(line, []byte(" /dev/")) && !bytes.Contains(line, []byte(" / / ")) {
			continue // most are the kernel's
		}
		device, d := diskOf(string(line))
		var s unix.Statfs_t
		if device == "" || seen[device] || unix.Statfs(d.Mount, &s) != nil || s.Blocks == 0 {
			continue
		}
		seen[device] = true
		d.Mount, d.Type = strings.ToValidUTF8(d.Mount, "\ufffd"), bounded(d.Type)
		d.Size = int64(s.Blocks) * s.Frsize / mebibyte * mebibyte
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b report.Disk) int { return cmp.Compare(a.Mount, b.Mount) })
	return all
}

// diskOf is the disk that a line of mountinfo is about, and its number; none where it
// is about something else.
func diskOf(line string) (device string, d report.Disk) {
	before, after, _ := strings.Cut(line, " - ")
	f, of := strings.Fields(before), strings.Fields(after)
	if len(f) < 6 || len(of) < 2 {
		return "", d
	}
	d = report.Disk{Mount: unescaped(f[4]), Type: of[0]}
	own := strings.HasPrefix(of[1], "/dev/") && !strings.HasPrefix(of[1], "/dev/loop")
	if d.Mount != "/" && !own || len(d.Mount) > mostPath {
		return "", d
	}
	return f[2], d
}

// unescaped is a path as it is, of which mountinfo writes some letters in octal.
func unescaped(p string) string {
	if strings.IndexByte(p, '\\') < 0 {
		return p
	}
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(p)
}

// addresses is those by which others may reach the machine, sorted.
func addresses() []string {
	found, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var all []string
	for _, a := range found {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			all = append(all, n.IP.String())
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(len(all), mostAddresses)]
}
