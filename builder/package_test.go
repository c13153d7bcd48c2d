package builder

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"noxmesh/delivery/build"
	"noxmesh/internal/oci"
	"noxmesh/manifest"
)

const packageManifest = `{"module": "app", "summary": "A board",
  "build": {"run": [["sh", "-c", "mkdir -p dist/usr/bin && printf '#!/bin/sh\\necho board\\n' >dist/usr/bin/board && chmod 755 dist/usr/bin/board"]],
    "artifacts": {"deb": {"type": "package", "path": "dist", "name": "board", "version": "1.4.2", "depends": ["libc6 (>= 2.36)"]}}}}`

// A package is published with its build, and is the same from another folder of
// another repository at another commit: Debian's tools read what the registry has.
func TestAPackageIsPublished(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	r := newRig(t)
	var made []manifest.Package
	for _, readme := range []string{"one\n", "two\n"} {
		m := r.module("app")
		a := m.build(map[string]string{"module.json": packageManifest, "dist/usr/share/doc/board/README": "words\n", "README": readme})
		if a.Outcome != build.OutcomeBuilt || len(a.Manifest.Built.Packages) != 1 {
			t.Fatalf("%+v", a)
		}
		made = append(made, a.Manifest.Built.Packages[0])
	}
	p := made[0]
	if made[1] != p || p.Artifact != "deb" || p.Name != "board" || p.Version != "1.4.2" {
		t.Errorf("%+v", made)
	}
	text, err := r.registry.client.PullBytes(t.Context(), oci.Blob{Repository: "app", Digest: p.Digest, Size: p.Size})
	must(t, err)
	file := filepath.Join(t.TempDir(), "board.deb")
	must(t, os.WriteFile(file, text, 0o600))
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("dpkg-deb is not on this machine")
	}
	out, err := exec.CommandContext(t.Context(), "dpkg-deb", "--contents", file).CombinedOutput()
	if err != nil || !strings.Contains(string(out), " ./usr/bin/board\n") || !strings.Contains(string(out), " ./usr/share/doc/board/README\n") {
		t.Errorf("%v\n%s", err, out)
	}
}

// What is declared and is not there, or is not what it looks like, fails the build
// and is named.
func TestAPackageThatCannotBeMadeIsNamed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	text := strings.Replace(packageManifest, `"run": [["sh", "-c", "mkdir -p dist/usr/bin && printf '#!/bin/sh\\necho board\\n' >dist/usr/bin/board && chmod 755 dist/usr/bin/board"]],`, "", 1)
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("0", 64) + "\nsize 12\n"
	for why, files := range map[string]map[string]string{
		`artifact "deb": there is no folder "dist" after the build`: {},
		`"usr/big" is a pointer of Git LFS`:                         {"dist/usr/big": pointer},
		`"usr/out"`:                                                 {"dist/usr/out": "-> ../../secret"},
		`there is a folder "DEBIAN" in what is packed`:              {"dist/DEBIAN/postinst": "#!/bin/sh\n", "dist/a": "a"},
	} {
		m := r.module("app")
		files["module.json"] = text
		if a := m.build(files); a.Outcome != build.OutcomeFailed || a.Step != build.StepPack || !strings.Contains(a.Why, why) {
			t.Errorf("want %s: %s %s: %s", why, a.Outcome, a.Step, a.Why)
		}
	}
}
