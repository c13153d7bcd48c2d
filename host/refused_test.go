package host

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"noxmesh/declaration"
	"noxmesh/report"
)

// refusing is one disk of the machine that does not take what is written to it.
type refusing struct {
	dir, how string // full, none, shut; see refuses
	before   string
	all      []declaration.Resource
	says     []string
}

// refuses puts what is in a folder onto a small disk of its own, which is full, has no
// inode left, or is shut against writing.
func (r *real) refuses(t testing.TB, dir, how string) {
	t.Helper()
	r.sh(t, `mkdir -p /run/small && cp -a %[1]s /run/small.was && mount -t tmpfs -o size=48m,nr_inodes=6000 small /run/small && cp -a %[1]s/. /run/small/ && mount --bind /run/small %[1]s && umount /run/small && rm -rf /run/small.was
[ $(stat -f -c %%T %[1]s) = tmpfs ]
case %[2]s in
full) head -c 64m /dev/zero >%[1]s/.ballast 2>/dev/null || true;;
none) mkdir %[1]s/.inodes; seq -f %[1]s/.inodes/%%g 6000 | xargs touch 2>/dev/null || true;;
shut) mount -o remount,ro %[1]s;;
esac`, dir, how)
}

// yields has the disk take what is written to it again.
func (r *real) yields(t testing.TB, dir string) {
	t.Helper()
	r.sh(t, `mount -o remount,rw %[1]s; rm -rf %[1]s/.ballast %[1]s/.inodes`, dir)
}

// settled is what must not change where a folder refuses: all of the old content, and nothing
// half beside it.
func (r *real) settled(t testing.TB, dir string) string {
	t.Helper()
	if dir == "/etc" {
		return r.sh(t, `cd /etc; cksum passwd shadow group gshadow fstab; find . -name '.mesh-new*' -o -name '*.new'; ls sysctl.d; find systemd -name '*.service' -type f`)
	}
	return r.sh(t, `dpkg --audit; dpkg-query -W -f '${Status} ${Package}\n' one two 2>/dev/null | grep -v not-installed; find /srv %s -name '.mesh-new*' -o -name '*.new'`, dir)
}

// sizeless is what is said without how large a disk is.
func sizeless(said string) string {
	said = regexp.MustCompile(`(less than 1|\d+) MiB free of \d+ MiB`).ReplaceAllString(said, "FREE")
	return regexp.MustCompile(`hardly any of the \d+ inodes`).ReplaceAllString(said, "NO INODES")
}

func TestADiskOfAMachineRefuses(t *testing.T) {
	t.Parallel()
	r := boots(t)
	r.depot(t)
	r.sh(t, "mount --bind /proc/sys/net /proc/sys/net; mount -o remount,bind,rw /proc/sys/net; apt-get -q update; touch /etc/fstab; rm -f /etc/.pwd.lock")
	r.unit(t, "plain.service", "Type=oneshot", "RemainAfterExit=yes", "ExecStart=true")
	r.turn(t, "an error at each effect", r.fails)
	web := container("web", declaration.Traits{Image: r.own(t, "web", drawn(t, "one", ""))})
	for _, c := range refusals(web) {
		r.turn(t, c.dir+" "+c.how, func(t *testing.T) { r.refused(t, c) })
	}
}

// fails is that of each kind each effect fails once with an error of the disk, all of them
// side by side: each fails by name, the others go on, and the next pass makes it right.
func (r *real) fails(t *testing.T) {
	goes := textFile("goes", "/root/goes", "on")
	all := list(
		group("team", "board", 712), user("shop", declaration.Traits{Name: "shop"}), service("plain", "plain.service", declaration.Running),
		hung("data", "/srv/data", "tmpfs", "tmpfs", "size=1M"), knob("ttl", "net.ipv4.ip_default_ttl", "65"), at("one", "1.0"), goes,
	)
	for _, points := range [][]string{
		{"resource.group.add", "resource.user.add", "resource.unit.enable", "resource.mount.make", "resource.sysctl.set", "packages.package.install"},
		{"resource.units.reload", "resource.mounts.reload"},
		{"resource.unit.start"},
		{"resource.machine.seal"},
	} {
		var env []string
		for _, p := range points {
			env = append(env, p+"#1:EIO")
		}
		rep, _ := r.apply(t, all, "MESH_FAIL="+strings.Join(env, ","))
		for _, p := range points {
			if !strings.Contains(sketch(rep), p+": input/output error") {
				t.Errorf("%s: nothing is said of it:\n%s", p, sketch(rep))
			}
		}
		for _, res := range rep.Resources {
			if (res.State == report.StateFailed) != strings.Contains(res.Error, "input/output error") || res.ID == "m/goes" && res.State == report.StateFailed && points[0] != "resource.machine.seal" {
				t.Errorf("%s: %+v", points, res)
			}
		}
		if rep, _ := r.apply(t, all); rep.Outcome != report.OutcomeApplied {
			t.Errorf("after %s: %s", points, sketch(rep))
		}
		r.apply(t, nil)
	}
}

// refused is that what cannot be written is said with the disk and what to do, that all else
// is done, that nothing is half, and that all is well when the disk takes it.
func (r *real) refused(t *testing.T, c refusing) {
	r.sh(t, "%s", orTrue(c.before))
	r.refuses(t, c.dir, c.how)
	before := r.settled(t, c.dir)
	rep, _ := r.apply(t, c.all)
	want := ""
	for _, line := range c.says {
		if want += line; strings.HasSuffix(line, ": ") {
			want += saidOf(c.how, c.dir)
		}
		want += "\n"
	}
	if got := sizeless(sketch(rep)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if c.how == "full" { // what is wrong is the same at each look
		again, _ := r.apply(t, c.all)
		if got, was := sketch(again), strings.ReplaceAll(sketch(rep), " changed\n", " ok\n"); got != was {
			t.Errorf("it says\n%swhere it has said\n%s", got, was)
		}
	}
	if got := r.settled(t, c.dir); got != before {
		t.Errorf("before\n%s\nand after\n%s", before, got)
	}
	r.yields(t, c.dir)
	if rep, _ := r.apply(t, c.all); rep.Outcome != report.OutcomeApplied {
		t.Errorf("afterwards %s", sketch(rep))
	}
	if got := r.sh(t, "grpck -r; pwck -qr | grep -v -e directory -e 'no changes'; dpkg --audit; true"); got != "" {
		t.Error(got)
	}
	if rep, _ := r.apply(t, nil); rep.Outcome != report.OutcomeApplied {
		t.Errorf("at the end %s", sketch(rep))
	}
	r.sh(t, "umount -l %s", c.dir)
}

// said is what a disk is said to refuse, by how.
func saidOf(how, dir string) string {
	return map[string]string{
		"full": `no space left on device: FREE on "` + dir + `"; make room there)`,
		"none": `no space left on device: NO INODES of "` + dir + `" is free; remove files there)`,
		"shut": `read-only file system: "` + dir + `" is mounted read-only; dmesg may say why, then: mount -o remount,rw ` + dir + `)`,
	}[how]
}

// refusals is each folder with what is written there. A line that ends with a colon is
// followed by what the disk says; on a full one a link can be made.
func refusals(web declaration.Resource) []refusing {
	accounts := list(group("team", "board", 712), user("user", declaration.Traits{Name: "board", Group: "board"}, "m/team"))
	plain, mount := service("plain", "plain.service", declaration.Running), hung("data", "/srv/data", "tmpfs", "tmpfs", "size=1M")
	ttl, goes, one := knob("ttl", "net.ipv4.ip_default_ttl", "65"), textFile("goes", "/root/goes", "on"), at("one", "1.0")
	etc := []string{
		`team failed (change "group board": "groupadd": `, `user blocked ("m/team" comes first, and is failed)`, `plain failed (change "service plain.service": enable it: `,
		`data failed (change "mount /srv/data": write "/etc/fstab": `, `ttl failed (change "sysctl net.ipv4.ip_default_ttl": write "/etc/sysctl.d/99-mesh-host.net.ipv4.ip_default_ttl.conf": `,
		"one changed", "goes changed",
	}
	full := append(slices.Clone(etc), `web failed (change "container web": write "/etc/systemd/system/mesh-container-web.service": write: `)
	full[2] = "plain changed"
	for _, i := range []int{3, 4} {
		full[i] += "write: "
	}
	packages := []string{"team changed", "user changed", `one failed (change "package one": `, `two failed (change "package two": `, "goes changed"}
	lists := []string{`one failed (change "package one": ask the sources of this machine what they have: `, "goes changed"}
	digest := web.Image[strings.LastIndexByte(web.Image, ':')+1:][:12]
	return []refusing{
		{dir: "/etc", how: "full", all: append(slices.Clone(accounts), plain, mount, ttl, one, goes, web), says: full},
		{dir: "/etc", how: "none", all: append(slices.Clone(accounts), plain, mount, ttl, one, goes), says: etc},
		{dir: "/etc", how: "shut", all: append(slices.Clone(accounts), plain, mount, ttl, one, goes), says: etc},
		{dir: "/var/lib/dpkg", how: "full", all: append(slices.Clone(accounts), one, named("two"), goes), says: packages},
		{dir: "/var/lib/dpkg", how: "shut", all: append(slices.Clone(accounts), one, named("two"), goes), says: packages},
		{dir: "/usr/share", how: "full", all: list(one, goes), says: slices.Delete(slices.Clone(packages[2:]), 1, 2)},
		{dir: "/var/lib/apt", how: "shut", before: "rm -rf /var/lib/apt/lists/*", all: list(one, goes), says: lists},
		{dir: "/var/lib/containers", how: "full", all: list(web, goes), says: []string{`web failed (change "container web": take in the image "mesh.internal/m/web:` + digest + `": `, "goes changed"}},
		{dir: "/var/lib/containers", how: "shut", all: list(web, goes), says: []string{`web failed (look at "container web": list containers: `, "goes changed"}},
		{dir: "/srv", how: "shut", all: list(mount, goes), says: []string{`data failed (change "mount /srv/data": `, "goes changed"}},
		{dir: "/var/lib/mesh-host", how: "full", all: append(slices.Clone(accounts), ttl, goes), says: []string{"team changed", "user changed", "ttl changed", "goes changed"}}, // it keeps room for that
	}
}
