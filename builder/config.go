package builder

import (
	"log/slog"
	"time"
)

// Config is all that a builder is told; it reads nothing else of its surroundings.
type Config struct {
	State    string       // the builder's own folder: its keys, and the answers that wait for a receipt
	Workshop string       // where builds are made; empty: beside the state, where the sandbox's user can reach it
	Version  string       // what it says of itself
	Log      *slog.Logger // for whoever runs it; nil: nowhere
	Limits   Limits       // what one build may take; zero fields are the defaults

	PlainHosts  []string // hosts that a repository may be read from over plain http
	FileFolders []string // folders that a repository may be read from as file://
	SSHKey      string   // a private key's file, for repositories over ssh; empty for none
	KnownHosts  string   // the forges' host keys, for the same; empty for git/known_hosts in State
}

// Limits are what one build may take of the machine.
type Limits struct {
	Processes int64         // at one time, threads included
	OpenFiles int64         // of one process
	FileSize  int64         // bytes of one file
	Temporary int64         // bytes in memory for /tmp, and the same again for the home folder
	Tree      int64         // bytes on disk: the source and all that is made in it
	Free      int64         // bytes that the disk keeps free
	Images    int64         // bytes on disk of the images that are built in, all together
	Longest   time.Duration // of one build, whatever its request says
}

// DefaultLimits are for a machine that has other things to do as well.
func DefaultLimits() Limits {
	return Limits{
		Processes: 4096,
		OpenFiles: 16384,
		FileSize:  8 << 30,
		Temporary: 1 << 30,
		Tree:      16 << 30,
		Free:      256 << 20,
		Images:    20 << 30,
		Longest:   6 * time.Hour,
	}
}

// orDefault fills what is zero.
func (l Limits) orDefault() Limits {
	d := DefaultLimits()
	fill := func(v *int64, d int64) {
		if *v == 0 {
			*v = d
		}
	}
	fill(&l.Processes, d.Processes)
	fill(&l.OpenFiles, d.OpenFiles)
	fill(&l.FileSize, d.FileSize)
	fill(&l.Temporary, d.Temporary)
	fill(&l.Tree, d.Tree)
	fill(&l.Free, d.Free)
	fill(&l.Images, d.Images)
	if l.Longest == 0 {
		l.Longest = d.Longest
	}
	return l
}
