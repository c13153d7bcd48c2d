package builder

import (
	"cmp"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"noxmesh/builder/gateway"
	"noxmesh/builder/supply"
	"noxmesh/internal/fault"
	"noxmesh/manifest"
)

// Config is all that a builder is told; it reads nothing else of its surroundings.
type Config struct {
	State    string       // the builder's own folder: its keys, and the answers that wait for a receipt
	Workshop string       // where builds are made; empty: beside the state, where the sandbox's user can reach it
	Version  string       // what it says of itself
	Log      *slog.Logger // for whoever runs it; nil: nowhere
	Limits   Limits       // what one build may take whose module asks for nothing else; zero fields are the defaults
	Most     Most         // what a module may ask for; zero fields are the defaults
	Users    Users        // as root: whom builds run as; zero: DefaultUsers
	Network  bool         // a module that asks for it may reach public addresses

	Dependencies supply.Upstreams // where what lock files name is fetched from; zero: nothing is

	outside gateway.Config // how names are resolved and addresses dialled, but in a test as this machine does

	PlainHosts  []string // hosts that a repository may be read from over plain http
	FileFolders []string // folders that a repository may be read from as file://
	SSHKey      string   // a private key's file, for repositories over ssh; empty for none
	KnownHosts  string   // the forges' host keys, for the same; empty for git/known_hosts in State
}

// Limits are what one build may take of the machine.
type Limits struct {
	Memory    int64         // bytes of all its processes together, with what they keep in /tmp and in the home folder
	Processes int64         // at one time, threads included
	OpenFiles int64         // of one process
	FileSize  int64         // bytes of one file
	Temporary int64         // bytes in memory for /tmp, and the same again for the home folder
	Tree      int64         // bytes on disk: the source and all that is made in it
	Files     int64         // files and folders on disk
	Log       int64         // bytes that its commands say; of these about a megabyte is kept
	Free      int64         // bytes that the disk keeps free
	Images    int64         // bytes on disk of the images that are built in, all together
	Libraries int64         // bytes on disk of the libraries that are built against, all together but for those of one build
	Outside   int64         // bytes on disk of what lock files name, all together
	Longest   time.Duration // of one build, whatever its request says
}

// DefaultLimits are for a machine that has other things to do as well.
func DefaultLimits() Limits {
	return Limits{
		Memory:    4 << 30,
		Processes: 4096,
		OpenFiles: 16384,
		FileSize:  8 << 30,
		Temporary: 1 << 30,
		Tree:      16 << 30,
		Files:     2 << 20,
		Log:       1 << 30,
		Free:      256 << 20,
		Images:    20 << 30,
		Libraries: 8 << 30,
		Outside:   8 << 30,
		Longest:   6 * time.Hour,
	}
}

// Most is the most that a module may ask for.
type Most struct {
	Memory    int64 // zero: three quarters of the machine's
	Processes int64 // zero: four times what a build has that asks for nothing
	Tree      int64 // likewise
}

// orDefault fills what is zero, on a machine with so much memory.
func (m Most) orDefault(l Limits, machine int64) Most {
	return Most{
		Memory:    cmp.Or(m.Memory, max(machine/4*3, minMemory)),
		Processes: cmp.Or(m.Processes, 4*l.Processes),
		Tree:      cmp.Or(m.Tree, 4*l.Tree),
	}
}

// minMemory is what a build has on the smallest machine.
const minMemory = 256 << 20

// orDefault fills what is zero.
func (l Limits) orDefault() Limits {
	d := DefaultLimits()
	fill := func(v *int64, d int64) {
		if *v == 0 {
			*v = d
		}
	}
	fill(&l.Memory, d.Memory)
	fill(&l.Processes, d.Processes)
	fill(&l.OpenFiles, d.OpenFiles)
	fill(&l.FileSize, d.FileSize)
	fill(&l.Temporary, d.Temporary)
	fill(&l.Tree, d.Tree)
	fill(&l.Files, d.Files)
	fill(&l.Log, d.Log)
	fill(&l.Free, d.Free)
	fill(&l.Images, d.Images)
	fill(&l.Libraries, d.Libraries)
	fill(&l.Outside, d.Outside)
	if l.Longest == 0 {
		l.Longest = d.Longest
	}
	return l
}

// asked is what a build has whose module asks for this, or why it is more than
// this builder gives.
func (l Limits) asked(want *manifest.BuildLimits, most Most) (Limits, error) {
	l.Memory = min(l.Memory, most.Memory)
	if want == nil {
		return l, nil
	}
	for _, x := range []struct {
		has        *int64
		want, most int64
		what       string
		words      func(int64) string
	}{
		{&l.Memory, want.MemoryBytes(), most.Memory, "of memory", sizeWords},
		{&l.Tree, want.DiskBytes(), most.Tree, "of the disk", sizeWords},
		{&l.Processes, want.Processes, most.Processes, "processes", func(n int64) string { return strconv.FormatInt(n, 10) }},
	} {
		if x.want > x.most {
			return l, fault.New(fault.Unavailable, "the module asks for %s %s under build.limits, and this builder gives a build at most %s", x.words(x.want), x.what, x.words(x.most))
		}
		*x.has = cmp.Or(x.want, *x.has)
	}
	if d := want.Duration(); d > 0 {
		l.Longest = min(l.Longest, d)
	}
	return l, nil
}

// says is the limits for people, and which of them the machine does not have.
func (l Limits) says(lacks string) string {
	words := fmt.Sprintf("limits: %s of memory, %s of the disk, %d processes", sizeWords(l.Memory), sizeWords(l.Tree), l.Processes)
	if lacks != "" {
		words += "; " + lacks
	}
	return words
}
