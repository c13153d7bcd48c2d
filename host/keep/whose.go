package keep

import (
	"io/fs"
	"strconv"
	"strings"
)

// Account is the number of a user or a group that a thing belongs to. The zero
// Account is anybody: it is not looked at.
type Account uint32

// AccountOf is the account with this number, which is not the last one there is.
func AccountOf(number uint32) Account { return Account(number + 1) }

// Number is the account's number; false where it is anybody.
func (a Account) Number() (uint32, bool) { return uint32(a) - 1, a != 0 }

// Is reports whether this is its number, or it is anybody.
func (a Account) Is(number uint32) bool { return a == 0 || a == AccountOf(number) }

// String is the number as a record has it.
func (a Account) String() string {
	if n, said := a.Number(); said {
		return strconv.FormatUint(uint64(n), 10)
	}
	return "-"
}

func parseAccount(text string) (Account, bool) {
	if text == "-" {
		return 0, true
	}
	n, err := strconv.ParseUint(text, 10, 32)
	a := AccountOf(uint32(n))
	return a, err == nil && a != 0 && a.String() == text
}

// special is the bits of a mode beside those that everybody knows, in the order of
// the kernel's numbers.
func special() []struct {
	mode fs.FileMode
	bit  uint32
} {
	return []struct {
		mode fs.FileMode
		bit  uint32
	}{{fs.ModeSetuid, 0o4000}, {fs.ModeSetgid, 0o2000}, {fs.ModeSticky, 0o1000}}
}

// AllBits is those of a mode that are not about what kind of thing it is.
const AllBits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// Bits is a mode as the kernel has it: twelve bits.
func Bits(mode fs.FileMode) uint32 {
	bits := uint32(mode.Perm())
	for _, s := range special() {
		if mode&s.mode != 0 {
			bits |= s.bit
		}
	}
	return bits
}

// Mode is what Bits is of.
func Mode(bits uint32) fs.FileMode {
	mode := fs.FileMode(bits & 0o777)
	for _, s := range special() {
		if bits&s.bit != 0 {
			mode |= s.mode
		}
	}
	return mode
}

// appendMode adds a mode and, where they are declared, an owner and a group: "644",
// "640:0:712", "2775:712:-".
func (t Thing) appendMode(b []byte) []byte {
	b = strconv.AppendUint(b, uint64(Bits(t.Mode)), 8)
	if t.Owner != 0 || t.Group != 0 {
		b = append(append(b, ':'), t.Owner.String()...)
		b = append(append(b, ':'), t.Group.String()...)
	}
	return b
}

func (t *Thing) parseMode(text string) bool {
	mode, accounts, owned := strings.Cut(text, ":")
	bits, err := strconv.ParseUint(mode, 8, 12)
	if err != nil || bits > 0o7777 {
		return false
	}
	t.Mode = Mode(uint32(bits))
	if !owned {
		return true
	}
	owner, group, both := strings.Cut(accounts, ":")
	var known, also bool
	t.Owner, known = parseAccount(owner)
	t.Group, also = parseAccount(group)
	return both && known && also && t.Owner|t.Group != 0
}

// modeFits reports whether the mode is one that such a thing can have.
func (t Thing) modeFits() bool {
	most := fs.ModePerm
	if t.Kind == Directory {
		most |= fs.ModeSetgid | fs.ModeSticky
	}
	return t.Mode&^most == 0
}
