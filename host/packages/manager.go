package packages

import (
	"context"

	"noxmesh/host/system"
	"noxmesh/internal/fault"
)

// Manager is the package manager of a machine.
type Manager interface {
	// Read is what is installed of these, or of all where none is named.
	Read(ctx context.Context, names []string) (Installed, error)
	// Install installs them together, or each by itself where that fails. It removes
	// nothing and asks nothing. An error is about all of them.
	Install(ctx context.Context, wanted []Want) (Outcome, error)
	// Remove removes these, and nothing else. What stands against it is said of each
	// that is still there.
	Remove(ctx context.Context, names []string) (map[string]error, error)
}

// Of is what keeps the packages of this machine; seen is what its host has read of them before.
func Of(sys *system.Root, seen *Seen) (Manager, error) {
	switch sys.Packager() {
	case system.Dpkg:
		return Debian{sys}, nil
	case system.RPM:
		return RPM{sys, seen}, nil
	}
	return nil, fault.New(fault.Conflict, "there is no %q on this machine, as with apt, and no %q with a database of rpm", statusFile, dnf).
		With("take what is a package out of the declaration of this machine")
}
