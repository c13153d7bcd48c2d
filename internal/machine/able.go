package machine

import (
	"os"
	"os/exec"

	"noxmesh/internal/fault"
)

// Able says why no machine can be started here, or nil.
func Able() error {
	if os.Geteuid() != 0 {
		return fault.New(fault.Denied, "start a machine: not root").With("run this test as root")
	}
	for _, name := range []string{"systemd-nspawn", "mmdebstrap", "ip", "nsenter", "mount"} {
		if _, err := exec.LookPath(name); err != nil {
			return fault.Wrap(fault.NotFound, err, "start a machine").
				With("apt-get install systemd-container mmdebstrap iproute2 util-linux mount")
		}
	}
	return nil
}
