//go:build meshcrash && linux

package effect

import (
	"os"
	"path/filepath"
	"syscall"
	"unsafe"
)

// cut shuts down the file systems that are mounted at these places. Nothing
// written from here on arrives. Of what was written before, only what was synced
// has; with MESH_POWER_LOG also every name, as when the file system had just
// written its log of its own accord: names without their bytes. internal/power
// mounts them.
func cut(mounts string) {
	const shutdown, withLog, withoutLog = 0x8004587d, 1, 2 // EXT4_IOC_SHUTDOWN, EXT4_GOING_FLAGS_…
	how := uint32(withoutLog)
	if os.Getenv("MESH_POWER_LOG") != "" {
		how = withLog
	}
	for _, at := range filepath.SplitList(mounts) {
		dir, err := os.Open(at)
		if err != nil {
			panic("MESH_POWER: " + err.Error())
		}
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, dir.Fd(), shutdown, uintptr(unsafe.Pointer(&how))); errno != 0 { //nolint:gosec // an ioctl takes an address
			panic("MESH_POWER: " + errno.Error())
		}
	}
}
