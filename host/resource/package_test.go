package resource

import (
	"os"
	"path/filepath"
	"testing"

	"noxmesh/declaration"
	"noxmesh/host/keep"
	"noxmesh/host/packages"
	"noxmesh/host/system"
)

// What dpkg says is installed is; the host's own record has no part in that.
func TestDpkgIsBelieved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "var/lib/dpkg"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "var/lib/dpkg/status"), []byte("Package: dpkg\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1\n\nPackage: one\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1.0\n"), 0o644))
	sys, err := system.Open(dir)
	must(t, err)
	defer sys.Close()
	by, err := packages.Of(sys, &packages.Seen{})
	must(t, err)
	in, err := by.Read(t.Context(), []string{"one"})
	must(t, err)
	for _, phase := range []keep.Phase{keep.Making, keep.Changing, keep.Done} {
		h := &holding{want: declaration.Traits{Name: "one"}, hold: keep.Hold{Subject: "package one", Phase: phase}, known: true}
		if s := packageFound(h, in, false); !s.same {
			t.Errorf("%v: %+v", phase, s)
		}
	}
}

func TestAMachineWithoutAPackageManager(t *testing.T) {
	t.Parallel()
	sys, err := system.Open(t.TempDir())
	must(t, err)
	defer sys.Close()
	if _, err := packages.Of(sys, &packages.Seen{}); err == nil || err.Error() != `there is no "/var/lib/dpkg/status" on this machine, as with apt, and no "dnf" with a database of rpm` {
		t.Error(err)
	}
}
