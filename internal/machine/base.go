package machine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"noxmesh/internal/fault"
	"noxmesh/internal/power"
)

// Cache is where the Debian that machines start from is kept between runs.
const Cache = "/var/cache/mesh-test"

// suite is the Debian that the project is tested on.
const suite = "bookworm"

// recipe is how the Debian is made: what systemd needs to boot, a network, what a
// host speaks TLS with, and what runs containers. What nobody reads in a test is left
// out, and podman starts nothing at boot by itself.
func recipe() []string {
	return []string{
		"--quiet", "--variant=minbase",
		"--include=systemd,systemd-sysv,dbus,iproute2,ca-certificates,libpam-systemd,podman,runc,netavark,iptables",
		"--dpkgopt=path-exclude=/usr/share/doc/*",
		"--dpkgopt=path-exclude=/usr/share/man/*",
		"--dpkgopt=path-exclude=/usr/share/locale/*",
		`--customize-hook=rm -f "$1"/etc/systemd/system/*.wants/podman*`,
	}
}

// Base is a folder with the Debian that machines start from. It is made at the
// first call, which takes a minute and a mirror, and kept in the cache folder.
// Several processes may call it at once: one makes it and the others wait.
// Nothing may be written into it.
func Base(ctx context.Context, cache string) (string, error) {
	sum := sha256.Sum256([]byte(strings.Join(append(recipe(), suite), "\n")))
	base := filepath.Join(cache, suite+"-"+hex.EncodeToString(sum[:6]))
	return base, once(base, func() error { return bootstrap(ctx, base) })
}

// With is Base with more packages, as apt installs them: what they have brought lies in
// a layer of its own, so that no other machine has it.
func With(ctx context.Context, cache string, names ...string) (string, error) {
	base, err := Base(ctx, cache)
	if err != nil {
		return "", err
	}
	layer := base + "+" + strings.Join(names, "+")
	return layer + ":" + base, once(layer, func() error { return install(ctx, base, layer, names) })
}

// once has something made that is kept, unless it is there.
func once(kept string, do func() error) error {
	if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil {
		return fault.Wrap(fault.Unavailable, err, "make the cache of machines %q", filepath.Dir(kept))
	}
	lock, err := locked(kept+".lock", unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer lock.Close()
	if _, err := os.Stat(kept); err == nil {
		return nil
	}
	return do()
}

// bootstrap makes the Debian beside its place and moves it there when it is whole.
func bootstrap(ctx context.Context, base string) error {
	half := base + ".half"
	if err := os.RemoveAll(half); err != nil {
		return fault.Wrap(fault.Unavailable, err, "remove %q", half)
	}
	cmd := exec.CommandContext(ctx, "mmdebstrap", append(recipe(), suite, half)...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fault.Wrap(fault.Unavailable, err, "make a Debian in %q: %s", half, tail(out))
	}
	if err := os.Rename(half, base); err != nil {
		return fault.Wrap(fault.Unavailable, err, "keep the Debian %q", base)
	}
	return nil
}

// install installs packages beside the layer's place, and moves it there when it is
// whole. Nothing of them is started here.
func install(ctx context.Context, base, layer string, names []string) error {
	half := layer + ".half"
	root, up := filepath.Join(half, "root"), filepath.Join(half, "up")
	err := power.Unmount(root) // it is mounted only where one was killed at this
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
		return err
	}
	if err := os.RemoveAll(half); err != nil {
		return fault.Wrap(fault.Unavailable, err, "remove %q", half)
	}
	for _, dir := range []string{root, up, filepath.Join(half, "work")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fault.Wrap(fault.Unavailable, err, "make %q", dir)
		}
	}
	if err := run(ctx, "mount", "-t", "overlay", "overlay", "-o", "lowerdir="+base+",upperdir="+up+",workdir="+half+"/work", root); err != nil {
		return err
	}
	err = installInto(ctx, root, names)
	if err := errors.Join(err, power.Unmount(root)); err != nil {
		return err
	}
	if err := os.Rename(up, layer); err != nil {
		return fault.Wrap(fault.Unavailable, err, "keep the Debian %q", layer)
	}
	return os.RemoveAll(half)
}

// installInto has the apt of the machine that the tests run on, which knows the way to
// its mirror, install packages into a Debian.
func installInto(ctx context.Context, root string, names []string) error {
	policy := filepath.Join(root, "usr/sbin/policy-rc.d")
	if err := os.WriteFile(policy, []byte("#!/bin/sh\nexit 101\n"), 0o755); err != nil {
		return fault.Wrap(fault.Unavailable, err, "write %q", policy)
	}
	apt := []string{
		"DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-y", "-o", "Dir=" + root, "-o", "Dir::State::status=" + root + "/var/lib/dpkg/status",
		"-o", "DPkg::Chroot-Directory=" + root, "-o", "APT::Install-Recommends=0", "-o", "APT::Sandbox::User=root",
	}
	for _, args := range [][]string{{"update"}, append([]string{"install"}, names...)} {
		if err := run(ctx, "env", append(slices.Clone(apt), args...)...); err != nil {
			return err
		}
	}
	lists, archives := filepath.Join(root, "var/lib/apt/lists"), filepath.Join(root, "var/cache/apt")
	for _, left := range []string{policy, lists, archives} {
		if err := os.RemoveAll(left); err != nil {
			return fault.Wrap(fault.Unavailable, err, "remove %q", left)
		}
	}
	for _, dir := range []string{lists + "/partial", archives + "/archives/partial"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fault.Wrap(fault.Unavailable, err, "make %q", dir)
		}
	}
	return nil
}

// tail is the last lines of what a command said.
func tail(out []byte) string {
	const lines = 12
	all := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
