package version

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"noxmesh/internal/disk"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// Folder is where the package of the host puts its versions.
const Folder = "/usr/lib/nox-mesh-host"

const (
	program       = "mesh-host"
	confirmedLink = "confirmed"
	installedLink = "installed"
	keptFolder    = "kept"
	failuresFile  = "failures"

	// Tries is how often a version may end before it is confirmed. The script counts to the same.
	Tries = 3
)

// Versions is those of one machine, as the one that runs sees them.
type Versions struct {
	dir   string // where the package has put them
	state string // the host's state folder
	own   string // the version that runs
	self  string // its program
}

// Here is the versions in a folder, with the host's state in another, for the
// version that runs as this program.
func Here(dir, state, own, self string) *Versions {
	return &Versions{dir: dir, state: state, own: own, self: self}
}

// Own is the version that runs.
func (v *Versions) Own() string { return v.own }

// Installed is the version that the package has put in place, or none.
func (v *Versions) Installed() string { return v.leads(installedLink) }

// Confirmed is the version that was confirmed last, or none.
func (v *Versions) Confirmed() string { return v.leads(confirmedLink) }

// leads is the version that a link leads to.
func (v *Versions) leads(link string) string {
	to, err := os.Readlink(filepath.Join(v.dir, link))
	if err != nil {
		return "" // what is not there leads nowhere, and what is no link neither
	}
	return filepath.Base(to)
}

// IsConfirmed reports whether the version that runs is the one that was confirmed last.
func (v *Versions) IsConfirmed() bool { return v.Confirmed() == v.own }

// Refused is why this version does not run here, as the service manager has seen
// it end; empty where nothing stands against it.
func (v *Versions) Refused(version string) (string, error) {
	all, err := v.failures()
	if err != nil {
		return "", err
	}
	var whys []string
	for _, f := range all {
		if f.version == version {
			whys = append(whys, f.why())
		}
	}
	if len(whys) < Tries {
		return "", nil
	}
	return whys[len(whys)-1], nil
}

// failure is one line of the script's.
type failure struct{ line, version, result, code, status string }

func (v *Versions) failures() ([]failure, error) {
	text, err := os.ReadFile(filepath.Join(v.state, failuresFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "read which versions of the host have failed")
	}
	var all []failure
	for line := range strings.Lines(string(text)) {
		words := append(strings.Fields(line), "", "", "", "")
		if words[0] != "" {
			all = append(all, failure{strings.TrimSpace(line), words[0], words[1], words[2], words[3]})
		}
	}
	return all, nil
}

// why is the failure in words. What is said is systemd's: its result, and how the
// main process ended.
func (f failure) why() string {
	switch {
	case f.result == "timeout":
		return "it did not get so far in time"
	case f.result == "watchdog":
		return "it stood still"
	case f.status == "EXEC" || f.status == "203":
		return "it could not be started"
	case f.code == "exited":
		return "it ended with " + f.status
	case f.code == "killed" || f.code == "dumped":
		return "it was ended by SIG" + f.status
	case f.result == "":
		return "it ended"
	}
	return f.result
}

// forget takes what was counted of the version that runs out of the failures.
func (v *Versions) forget() error {
	all, err := v.failures()
	if err != nil {
		return err
	}
	var left []byte
	ours := 0
	for _, f := range all {
		if f.version == v.own {
			ours++
			continue
		}
		left = append(append(left, f.line...), '\n')
	}
	if ours == 0 {
		return nil
	}
	return effect.Do("version.failures.forget", func() error {
		return disk.Write(filepath.Join(v.state, failuresFile), left)
	})
}
