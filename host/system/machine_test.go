package system

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWhatAMachineIs(t *testing.T) {
	t.Parallel()
	dir, r := machine(t)
	if r.Facts().Machine != nil {
		t.Error("a folder says that it is a machine")
	}
	must(t, os.MkdirAll(filepath.Join(dir, "etc"), 0o755))
	must(t, os.MkdirAll(filepath.Join(dir, "run/systemd"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "etc/os-release"), []byte("NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "run/systemd/container"), []byte("systemd-nspawn\n"), 0o644))
	m := r.machine()
	if m.System != "Debian GNU/Linux 12 (bookworm)" || m.Virtual != "systemd-nspawn" || m.Kernel == "" || m.Memory < 64<<20 {
		t.Errorf("%+v", m)
	}
	must(t, os.Remove(filepath.Join(dir, "run/systemd/container")))
	if got := r.virtual(); got == "" || got == "systemd-nspawn" {
		t.Errorf("it is %q", got)
	}
	if got := hypervisor("Standard PC (i440FX + PIIX, 1996) QEMU"); got != "qemu" {
		t.Error(got)
	}
}

func TestWhichDisksThereAre(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "mountinfo")
	must(t, os.WriteFile(file, []byte(`22 1 0:20 / / rw,relatime shared:1 - overlay overlay rw
23 22 0:21 / /proc rw - proc proc rw
24 22 8:1 / /tmp rw shared:2 master:3 - ext4 /dev/sda1 rw
25 22 8:1 /x /var rw - ext4 /dev/sda1 rw
26 22 7:0 / /etc rw - ext4 /dev/loop0 rw
27 22 0:30 / /run rw - tmpfs tmpfs rw
28 22 8:2 / /not\040there rw - xfs /dev/sda2 rw
nothing
`), 0o644))
	got := ""
	for _, d := range disks(file) {
		got += d.Mount + " " + d.Type + "; "
		if d.Size <= 0 {
			t.Errorf("%+v", d)
		}
	}
	if got != "/ overlay; /tmp ext4; " {
		t.Error(got)
	}
	if unescaped(`/a\040b\134c`) != `/a b\c` {
		t.Error(unescaped(`/a\040b\134c`))
	}
}
