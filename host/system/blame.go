package system

import (
	"slices"
	"strings"
	"syscall"

	"noxmesh/internal/disk"
)

// Blamed is the refusal of a file system that a program or a service of this machine
// tells of in its own words, with which file system that was and what to do; nil where
// it tells of none. It holds a path that stands beside those words, or is one of these,
// which the program writes to. Names that are made up at each attempt are left out.
func Blamed(said string, places ...string) error {
	for line := range strings.Lines(said) {
		if no := refusalIn(line); no != 0 {
			return refusedAt(no, append(pathsIn(line), places...))
		}
	}
	return nil
}

// Unwritable is why nothing can be written at one of these places; nil where it can at
// all. It is for a program that does not say why it failed.
func Unwritable(places ...string) error {
	for _, no := range []syscall.Errno{syscall.EROFS, syscall.ENOSPC} {
		if slices.ContainsFunc(places, func(p string) bool { return stands(no, p) }) {
			return refusedAt(no, places)
		}
	}
	return nil
}

// refusalIn is the error of a file system that a line names, as the library of C and Go
// write it; and apt, which counts before it begins.
func refusalIn(line string) syscall.Errno {
	line = strings.ToLower(line)
	for _, no := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO} {
		if strings.Contains(line, no.Error()) {
			return no
		}
	}
	if strings.Contains(line, "have enough free space in ") || strings.Contains(line, " more space needed on the ") || strings.Contains(line, " more space on the ") {
		return syscall.ENOSPC
	}
	return 0
}

func pathsIn(line string) []string {
	words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\n'\"`:;,()[]=", r) })
	return slices.DeleteFunc(words, func(w string) bool { return w[0] != '/' })
}

// refusedAt is the refusal of the first of these that is as the error says, or else of the first.
func refusedAt(no syscall.Errno, places []string) error {
	if len(places) == 0 {
		return no
	}
	i := slices.IndexFunc(places, func(p string) bool { return stands(no, p) })
	place := places[max(i, 0)]
	if no == syscall.ENOSPC && disk.Of(place).ReadOnly {
		no = syscall.EROFS // rpm finds no room on one that is shut
	}
	return disk.Say(no, place)
}

func stands(no syscall.Errno, p string) bool {
	on := disk.Of(p)
	return on.ReadOnly && (no == syscall.EROFS || no == syscall.EIO) || on.Full() && no == syscall.ENOSPC
}
