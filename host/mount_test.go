package host

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"noxmesh/declaration"
	"noxmesh/report"
)

// hung is a mount at a path.
func hung(id, path, source, fstype, options string) declaration.Resource {
	return declaration.Resource{
		ID: "m/" + id, Type: declaration.Mount, Path: path,
		Traits: &declaration.Traits{Source: source, FSType: fstype, Options: options},
	}
}

// hangs is what is mounted below /srv and /mnt, what fstab says, and what else is there.
func (r *real) hangs(t testing.TB) string {
	t.Helper()
	return r.sh(t, `grep -E ' /(srv|mnt)/' /proc/self/mountinfo | cut -d' ' -f5- | sed 's/ - / /;s/ shared:[0-9]*//'; cat /etc/fstab; find /srv /mnt | sort; ls -A /etc | grep mesh || true`)
}

const someTable = "# what stands here stays\n\n/dev/nowhere\t/ ext4   errors=remount-ro 0 1 # the root\nproc /proc proc defaults"

func TestMountsOnAMachine(t *testing.T) {
	t.Parallel()
	r := boots(t)
	r.sh(t, "rm -rf /srv/* /mnt/*; cat >/etc/fstab <<'END'\n%s\nEND\nprintf %%s \"$(cat /etc/fstab)\" >/etc/fstab", someTable)
	before := r.hangs(t)
	empty := func(t *testing.T) {
		t.Helper()
		if got := strings.TrimSuffix(strings.Replace(r.hangs(t), "defaults\n/mnt", "defaults/mnt", 1), "\n"); got != before {
			t.Fatalf("got\n%s\nwant\n%s", got, before)
		}
	}
	r.turn(t, "mounted, changed and unmounted", func(t *testing.T) {
		all := list(hung("data", "/srv/a b/data", "tmpfs", "tmpfs", "size=1M,mode=0750,noexec"), textFile("f", "/srv/a b/data/f", "x"))
		r.says(t, all, "data changed", "f changed")
		r.says(t, all, "data ok", "f ok")
		const at = `/srv/a\040b/data`
		if got := r.hangs(t); !strings.HasPrefix(got, at+` rw,noexec,relatime tmpfs tmpfs rw,size=1024k,mode=750`) ||
			!strings.Contains(got, someTable+"\ntmpfs "+at+" tmpfs size=1M,mode=0750,noexec 0 0\n/mnt") || !strings.HasSuffix(got, "/srv/a b/data/f") {
			t.Error(got)
		}
		if got := r.sh(t, `systemctl show -p What,Type "$(systemd-escape -p --suffix=mount '/srv/a b/data')"; grep -h Options= /run/systemd/generator/*data.mount; systemctl list-units --failed --no-legend`); got != "What=tmpfs\nType=tmpfs\nOptions=size=1M,mode=0750,noexec" {
			t.Error(got)
		}
		r.sh(t, `mount -o remount,ro,exec,size=2M '/srv/a b/data'`)
		if rep := r.says(t, all, "data changed", "f ok"); rep.Resources[0].Found != "mounted with ro,exec,size=2048k" || !rep.Resources[0].Fixed {
			t.Errorf("%+v", rep.Resources[0])
		}
		r.sh(t, `umount '/srv/a b/data'`)
		if rep := r.says(t, all, "data changed", "f changed"); rep.Resources[0].Found != "not mounted" {
			t.Errorf("%+v", rep.Resources[0])
		}
		all[0] = hung("data", "/srv/a b/data", "tmpfs", "tmpfs", "size=3M,nofail")
		if rep := r.says(t, all, "data changed", "f ok"); rep.Resources[0].Found != `mounted with noexec,size=1024k, /etc/fstab says "tmpfs /srv/a\040b/data tmpfs size=1M,mode=0750,noexec"` {
			t.Errorf("%+v", rep.Resources[0])
		}
		if got := r.sh(t, "grep -h Options= /run/systemd/generator/*data.mount"); got != "Options=size=3M,nofail" {
			t.Errorf("systemd has read %q", got)
		}
		r.says(t, list(all[1]), `f failed (read back "/srv/a b/data/f": something on the way to it was removed, and it is not as declared: nothing)`, "data removed")
		r.says(t, list(all[1]), "f changed")
		r.says(t, nil, "f removed")
		r.sh(t, "printf '%%s' '%s' >/etc/fstab", someTable)
		empty(t)
	})
	r.turn(t, "the table", func(t *testing.T) { r.mountTable(t, empty) })
	r.turn(t, "a device", func(t *testing.T) { r.device(t, empty) })
	r.turn(t, "side by side", func(t *testing.T) {
		const n = 3 // of which each is mounted when all are about to be
		r.sh(t, `cat >/usr/local/sbin/mount <<'END'
#!/bin/sh
touch "/run/meet.$$"
until [ "$(ls /run/meet.* | wc -l)" -ge %d ]; do sleep 0.05; done
exec /bin/mount "$@"
END
chmod +x /usr/local/sbin/mount`, n)
		r.says(t, list(
			hung("a", "/srv/a", "tmpfs", "tmpfs", "size=1M"), hung("b", "/srv/b", "tmpfs", "tmpfs", "size=1M"), hung("z", "/srv/z/z", "tmpfs", "tmpfs", "size=1M"),
		), "a changed", "b changed", "z changed")
		r.sh(t, "rm /usr/local/sbin/mount /run/meet.*")
		r.says(t, nil, "a removed", "b removed", "z removed")
		empty(t)
	})
	r.turn(t, "a plan mounts nothing", func(t *testing.T) {
		r.declare(t, list(hung("m", "/srv/m", "tmpfs", "tmpfs", ""), textFile("f", "/srv/m/f", "x"), knob("k", "net.ipv4.conf.all.arp_filter", "2")))
		got := r.sh(t, "mesh-host plan /root/d.json || true")
		for _, want := range []string{"m/m  mount /srv/m: not mounted, not in /etc/fstab", `m/k  sysctl net.ipv4.conf.all.arp_filter: it is "0", nothing sets it at boot`} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %s", want, got)
			}
		}
		empty(t)
	})
	r.turn(t, "killed anywhere", func(t *testing.T) {
		r.sweep(t, []string{"resource.mount", "resource.directory", "resource.staged"}, func(t testing.TB) string {
			return r.hangs(t) + r.sh(t, "cd /run/systemd/generator; grep -H -e What -e Options srv-b*.mount 2>/dev/null || true") // what systemd has read
		},
			list(hung("a", "/srv/b", "tmpfs", "tmpfs", "size=1M")), list(hung("a", "/srv/b", "tmpfs", "tmpfs", "size=2M,noexec")))
	})
	empty(t)
}

// mountTable is what is said of each mount: what is declared, and what the machine is like.
func (r *real) mountTable(t *testing.T, empty func(*testing.T)) {
	one := list(hung("m", "/srv/m", "tmpfs", "tmpfs", "size=1M"))
	for _, c := range []struct {
		name, before string
		all          []declaration.Resource
		says, left   []string
		after        string
	}{
		{
			name: "no such device", all: list(hung("m", "/srv/m", "/dev/nowhere", "ext4", ""), hung("u", "/srv/u", "UUID=12-34", "ext4", ""), textFile("f", "/srv/m/f", "x")),
			says: []string{
				`m failed (change "mount /srv/m": there is no /dev/nowhere here: no such file or directory; lsblk -f shows what there is)`,
				`u failed (change "mount /srv/u": there is no UUID=12-34 here: no such file or directory; lsblk -f shows what there is)`,
				`f blocked ("m/m" comes first, and is failed)`,
			},
		},
		{
			name: "something is in it", before: "mkdir /srv/m; touch /srv/m/x", all: one,
			says: []string{`m failed (change "mount /srv/m": "/srv/m" holds x, which would be hidden; move it away)`}, after: "rm -r /srv/m",
		},
		{
			name: "a file is there", before: "touch /srv/m", all: one,
			says: []string{`m failed (change "mount /srv/m": "/srv/m" is a file; move it away)`}, after: "rm /srv/m",
		},
		{
			name: "a link is there", before: "ln -s /mnt /srv/m", all: one,
			says: []string{`m failed (change "mount /srv/m": "/srv/m" is a link; move it away)`}, after: "rm /srv/m",
		},
		{
			name: "the directory was there", before: "mkdir /srv/m", all: one, says: []string{"m changed"}, left: []string{"m removed"}, after: "rmdir /srv/m",
		},
		{
			name: "the way leads elsewhere", before: "mkdir /mnt/real; ln -s /mnt/real /srv/way", all: list(hung("m", "/srv/way/m", "tmpfs", "tmpfs", "size=1M")),
			says: []string{"m changed"}, left: []string{"m removed"}, after: "rm /srv/way; rmdir /mnt/real",
		},
		{
			name: "another mount is there", before: "mkdir /srv/m; mount -t ramfs other /srv/m", all: one,
			says: []string{`m failed (change "mount /srv/m": "other" (ramfs) is mounted there, which the host did not mount; umount /srv/m, or declare that)`}, after: "umount /srv/m; rmdir /srv/m",
		},
		{
			name: "it is mounted already, and not in the table", before: "mkdir /srv/m; mount -t tmpfs -o size=1M tmpfs /srv/m", all: one,
			says: []string{"m changed"}, left: []string{`m removed ["tmpfs" is mounted at "/srv/m", which the host did not mount, and stays]`}, after: "umount /srv/m; rmdir /srv/m",
		},
		{
			name: "it is as declared already", before: "mkdir /srv/m; mount -t tmpfs -o size=1M tmpfs /srv/m; printf '\ntmpfs  /srv/m/ tmpfs size=1M\n' >>/etc/fstab", all: one,
			says: []string{"m ok"}, left: []string{"m removed [mount /srv/m was there before, and stays]"}, after: "umount /srv/m; rmdir /srv/m",
		},
		{
			name: "another line is there", before: "mkdir /srv/m; printf '\ntmpfs  /srv/m\ttmpfs noauto 1 2\n# end\n' >>/etc/fstab", all: one,
			says: []string{"m changed"}, left: []string{"m removed [the line of mount /srv/m was there before: it stays, and so does what is mounted]"},
			after: "set -e; tail -n 2 /etc/fstab | head -n 1 | grep -qx 'tmpfs /srv/m tmpfs size=1M 1 2'; umount /srv/m; rmdir /srv/m",
		},
		{
			name: "two lines are there", before: "printf '\ntmpfs /srv/m tmpfs\ntmpfs /srv/m tmpfs\n' >>/etc/fstab", all: one,
			says: []string{`m failed (change "mount /srv/m": "/etc/fstab" has more than one line for it; take out those that are not meant)`},
		},
		{
			name: "another resource is the table", all: list(hung("m", "/srv/m", "tmpfs", "tmpfs", ""), textFile("f", "/etc/fstab", someTable)),
			says: []string{`m failed (change "mount /srv/m": another resource says what is in "/etc/fstab"; declare the line there, or take that resource out)`, "f ok"},
			left: []string{"f removed [/etc/fstab was there before, and stays]"},
		},
	} {
		r.turn(t, c.name, func(t *testing.T) {
			r.sh(t, "%s", orTrue(c.before))
			if rep := r.says(t, c.all, c.says...); rep.Outcome == report.OutcomeApplied {
				r.says(t, c.all, strings.Split(strings.ReplaceAll(strings.Join(c.says, "\n"), "changed", "ok"), "\n")...)
			}
			if got := r.sh(t, "grep nowhere.*/srv /etc/fstab || true"); got != "" {
				t.Errorf("there is a line of what is not mounted: %s", got)
			}
			r.says(t, nil, c.left...)
			r.sh(t, "%s; printf '%%s' '%s' >/etc/fstab", orTrue(c.after), someTable)
			empty(t)
		})
	}
	r.turn(t, "it hangs", func(t *testing.T) {
		r.sh(t, `printf '#!/bin/sh\nsleep 600 & wait\n' >/sbin/mount.slow; chmod 755 /sbin/mount.slow`)
		rep, _ := r.apply(t, list(hung("m", "/srv/m", "far:/x", "slow", "x-systemd.mount-timeout=1"), hung("n", "/srv/n", "tmpfs", "tmpfs", "")))
		got := sketch(rep)
		if !strings.HasPrefix(got, `m failed (change "mount /srv/m": "mount" had not ended after `) || !strings.HasSuffix(got, "s, and was ended with all that it had started)\nn changed\n") {
			t.Error(got)
		}
		r.sh(t, "rm /sbin/mount.slow; if grep far: /etc/fstab; then exit 1; fi; while grep -qx sleep /proc/[0-9]*/comm 2>/dev/null; do sleep 0.05; done")
		r.says(t, nil, "m removed", "n removed")
		r.sh(t, "printf '%%s' '%s' >/etc/fstab", someTable)
		empty(t)
	})
	r.turn(t, "it is used", func(t *testing.T) {
		r.says(t, one, "m changed")
		r.sh(t, "mkdir /srv/m/x; cd /srv/m/x && sleep 600 >/dev/null 2>&1 & echo $! >/root/pid; until [ \"$(cat /proc/$(cat /root/pid)/comm)\" = sleep ]; do sleep 0.05; done")
		r.says(t, nil, fmt.Sprintf(`m failed (remove "mount /srv/m": it is used by sleep (pid %s); stop them: it is unmounted when none uses it)`, r.sh(t, "cat /root/pid")))
		r.sh(t, "kill $(cat /root/pid); while [ -d /proc/$(cat /root/pid) ]; do sleep 0.05; done; mount -t tmpfs x /srv/m/x")
		r.says(t, nil, `m failed (remove "mount /srv/m": "/srv/m/x" is mounted below it; unmount that first)`)
		r.sh(t, "umount /srv/m/x; rm /root/pid")
		r.says(t, nil, "m removed")
		r.sh(t, "printf '%%s' '%s' >/etc/fstab", someTable)
		empty(t)
	})
	r.turn(t, "drift is only reported, and nothing is put where it is not", func(t *testing.T) {
		all := list(hung("m", "/srv/m", "tmpfs", "tmpfs", "size=1M"), textFile("f", "/srv/m/f", "x"))
		all[0].Drift = declaration.DriftReport
		r.says(t, all, "m changed", "f changed")
		r.sh(t, "umount /srv/m")
		r.says(t, all, "m differs [not mounted]", `f blocked ("m/m" comes first, and differs)`)
		r.says(t, nil, "f removed", "m removed")
		r.sh(t, "printf '%%s' '%s' >/etc/fstab", someTable)
		empty(t)
	})
}

// device is about a real one, by its path and by its id.
func (r *real) device(t *testing.T, empty func(*testing.T)) {
	for _, program := range []string{"mkfs.ext4", "losetup"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("there is no %s: apt-get install e2fsprogs mount", program)
		}
	}
	image := filepath.Join(t.TempDir(), "disk")
	const id = "0a1b2c3d-1111-2222-3333-444455556666"
	if out, err := exec.Command("sh", "-c", "truncate -s 8M "+image+" && mkfs.ext4 -q -O ^has_journal -L 'two words' -U "+id+" "+image).CombinedOutput(); err != nil {
		t.Fatalf("%s: %s", err, out)
	}
	out, err := exec.Command("losetup", "--find", "--show", image).CombinedOutput()
	if err != nil {
		t.Skipf("there are no loop devices: %s", out)
	}
	loop := strings.TrimSpace(string(out))
	t.Cleanup(func() { must(t, exec.Command("losetup", "-d", loop).Run()) })
	if _, err := os.Stat(loop); err != nil {
		t.Fatal(err)
	}
	r.sh(t, `mknod /dev/disk7 b 7 %s; mkdir -p /dev/disk/by-uuid /dev/disk/by-label; ln -s ../../disk7 /dev/disk/by-uuid/%s; ln -s ../../disk7 '/dev/disk/by-label/two\x20words'`, strings.TrimPrefix(loop, "/dev/loop"), id)
	byID := list(hung("d", "/srv/d", "UUID="+id, "ext4", "noatime,errors=remount-ro"))
	r.says(t, byID, "d changed")
	r.says(t, byID, "d ok")
	if got := r.sh(t, "tail -n 1 /etc/fstab; grep /srv/d /proc/mounts"); !strings.HasPrefix(got, "UUID="+id+" /srv/d ext4 noatime,errors=remount-ro 0 0\n/dev/disk7 /srv/d ext4 rw,noatime") {
		t.Error(got)
	}
	r.says(t, list(hung("d", "/srv/d", "LABEL=two words", "auto", "ro")), "d changed")
	if got := r.sh(t, "tail -n 1 /etc/fstab; grep /srv/d /proc/mounts"); !strings.HasPrefix(got, `LABEL=two\040words /srv/d auto ro 0 0`+"\n/dev/disk7 /srv/d ext4 ro,relatime") {
		t.Error(got)
	}
	// Another one in its place, which the host itself had mounted, and back.
	r.says(t, list(hung("d", "/srv/d", "tmpfs", "tmpfs", "")), "d changed")
	r.says(t, list(hung("d", "/srv/d", "/dev/disk7", "auto", "")), "d changed")
	r.says(t, list(hung("d", "/srv/d", "tmpfs", "tmpfs", "")), "d changed")
	r.says(t, list(hung("d", "/srv/d", "/dev/disk7", "zzfs", "")),
		`d failed (change "mount /srv/d": "mount" ended with 32: mount: /srv/d: unknown filesystem type 'zzfs'.; dmesg(1) may have more information after failed mount system call.)`)
	r.says(t, nil, "d removed")
	r.sh(t, "rm -r /dev/disk7 /dev/disk; printf '%%s' '%s' >/etc/fstab", someTable)
	empty(t)
}
