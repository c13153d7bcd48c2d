package machine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"noxmesh/internal/fault"
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
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fault.Wrap(fault.Unavailable, err, "make the cache of machines %q", cache)
	}
	lock, err := os.OpenFile(base+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", fault.Wrap(fault.Unavailable, err, "lock the cache of machines %q", cache)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return "", fault.Wrap(fault.Unavailable, err, "lock the cache of machines %q", cache)
	}
	if _, err := os.Stat(base); err == nil {
		return base, nil
	}
	return base, bootstrap(ctx, base)
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

// tail is the last lines of what a command said.
func tail(out []byte) string {
	const lines = 12
	all := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
