package golang

import (
	"bytes"
	"go/build/constraint"
	"strconv"
	"strings"
)

// release is the Go 1.N as which constraints are read: what go1.N says is true up to it.
const release = 26

// platform is what a file is compiled for.
type platform struct{ os, arch string }

// tag reports whether a name in a constraint holds, as for the go command
// without flags, with cgo.
func (p platform) tag(name string) bool {
	switch name {
	case p.os, p.arch, "gc", "cgo":
		return true
	case "unix":
		return p.unix()
	case "linux":
		return p.os == "android"
	case "solaris":
		return p.os == "illumos"
	case "darwin":
		return p.os == "ios"
	}
	if minor, ok := strings.CutPrefix(name, "go1."); ok {
		n, err := strconv.Atoi(minor)
		return err == nil && n >= 1 && n <= release && strconv.Itoa(n) == minor
	}
	if experiment, ok := strings.CutPrefix(name, "goexperiment."); ok {
		return p.experiment(experiment)
	}
	return p.feature(name)
}

// experiment reports whether Go 1.26 makes one without being asked.
func (p platform) experiment(name string) bool {
	switch name {
	case "dwarf5":
		return p.os != "darwin" && p.os != "ios" && p.os != "aix"
	case "greenteagc", "randomizedheapbase64":
		return true
	case "regabiwrappers", "regabiargs":
		switch p.arch {
		case "amd64", "arm64", "loong64", "ppc64", "ppc64le", "riscv64", "s390x":
			return true
		}
	}
	return false
}

// feature reports whether a name is of what every machine of the architecture can do.
func (p platform) feature(name string) bool {
	arch, what, ok := strings.Cut(name, ".")
	if !ok || arch != p.arch {
		return false
	}
	switch name {
	case "386.sse2", "amd64.v1", "arm.5", "arm.6", "arm.7", "arm64.v8.0", "riscv64.rva20u64", "wasm.satconv", "wasm.signext":
		return true
	}
	switch arch {
	case "mips", "mipsle", "mips64", "mips64le":
		return what == "hardfloat"
	case "ppc64", "ppc64le":
		return what == "power8"
	}
	return false
}

func (p platform) unix() bool {
	switch p.os {
	case "aix", "android", "darwin", "dragonfly", "freebsd", "hurd", "illumos", "ios", "linux", "netbsd", "openbsd", "solaris":
		return true
	}
	return false
}

// named reports whether a file's name lets it be compiled here: name_OS.go,
// name_ARCH.go and name_OS_ARCH.go say for what they are.
func (p platform) named(file string) bool {
	name, _, _ := strings.Cut(file, ".")
	_, name, ok := strings.Cut(name, "_")
	if !ok {
		return true
	}
	name = strings.TrimSuffix("_"+name, "_test")
	rest, last := cutLast(name)
	_, before := cutLast(rest)
	switch {
	case knownArch(last):
		return p.tag(last) && (!knownOS(before) || p.tag(before))
	case knownOS(last):
		return p.tag(last)
	}
	return true
}

// cutLast is what stands before and after the last underscore.
func cutLast(name string) (before, after string) {
	i := strings.LastIndexByte(name, '_')
	return name[:max(i, 0)], name[i+1:]
}

// knownOS reports whether a word in a file's name is an operating system's: each that was or may be one.
func knownOS(word string) bool {
	switch word {
	case "aix", "android", "darwin", "dragonfly", "freebsd", "hurd", "illumos", "ios", "js", "linux", "nacl", "netbsd",
		"openbsd", "plan9", "solaris", "wasip1", "windows", "zos":
		return true
	}
	return false
}

// knownArch reports whether a word in a file's name is an architecture's: each that was or may be one.
func knownArch(word string) bool {
	switch word {
	case "386", "amd64", "amd64p32", "arm", "arm64", "arm64be", "armbe", "loong64", "mips", "mips64", "mips64le",
		"mips64p32", "mips64p32le", "mipsle", "ppc", "ppc64", "ppc64le", "riscv", "riscv64", "s390", "s390x", "sparc",
		"sparc64", "wasm":
		return true
	}
	return false
}

// compiled reports whether the constraint in a file's header lets it be
// compiled here, or in which line it is wrong and why: //go:build, or where it
// has none, each +build.
func (p platform) compiled(text []byte) (ok bool, line int, why string) {
	h := header(text)
	switch len(h.build) {
	case 0:
		for _, old := range h.plus {
			if x, err := constraint.Parse(old); err == nil && !x.Eval(p.tag) {
				return false, 0, ""
			}
		}
		return true, 0, ""
	case 1:
		x, err := constraint.Parse(h.build[0].text)
		if err != nil {
			return false, h.build[0].line, "its //go:build line cannot be read: " + err.Error()
		}
		return x.Eval(p.tag), 0, ""
	}
	return false, h.build[1].line, "has a second //go:build line: a file has one"
}

// constraints is the lines of a file's header that say when it is compiled.
type constraints struct {
	build []line   // //go:build, two at most
	plus  []string // +build, those that a blank line follows
}

// line is one of a file's.
type line struct {
	text string
	line int
}

// header reads what stands before the package clause.
func header(text []byte) (found constraints) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	inside, ended := false, false // in a /* comment; after one
	var plus []string
	for n := 1; len(text) > 0 && len(found.build) < 2; n++ {
		var raw []byte
		raw, text, _ = bytes.Cut(text, []byte("\n"))
		raw = bytes.TrimSpace(raw)
		if len(raw) == 0 && !ended {
			found.plus, plus = append(found.plus, plus...), nil
			continue
		}
		isLine := bytes.HasPrefix(raw, []byte("//"))
		ended = ended || !isLine
		if isLine && !inside {
			switch s := string(raw); {
			case constraint.IsGoBuild(s):
				found.build = append(found.build, line{s, n})
			case constraint.IsPlusBuild(s):
				plus = append(plus, s)
			}
			continue
		}
		var code bool
		if inside, code = comment(raw, inside); code {
			break
		}
	}
	return found
}

// comment goes through a line that begins inside of a /* comment or not, and
// reports whether it ends in one, and whether it has more than comments.
func comment(raw []byte, inside bool) (still, code bool) {
	for len(raw) > 0 {
		switch {
		case inside:
			_, after, ok := bytes.Cut(raw, []byte("*/"))
			if !ok {
				return true, false
			}
			inside, raw = false, bytes.TrimSpace(after)
		case bytes.HasPrefix(raw, []byte("//")):
			return false, false
		case bytes.HasPrefix(raw, []byte("/*")):
			inside, raw = true, raw[2:]
		default:
			return false, true
		}
	}
	return inside, false
}
