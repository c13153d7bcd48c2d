package declaration

import (
	"strconv"
	"strings"

	"noxmesh/document"
)

// ModeFlaw is what is wrong with the mode of a resource of this type, as it is
// written: four octal digits, of a directory at most 3777 and of a file at most
// 0777. False where nothing is, or where there is none.
func ModeFlaw(of Type, mode string) (Flaw, bool) {
	most := "0777"
	if of == Directory {
		most = "3777"
	}
	octal := len(mode) == 4 && strings.Trim(mode, "01234567") == ""
	switch {
	case mode == "" || octal && mode[0] <= most[0]:
		return Flaw{}, false
	case octal && of == Directory:
		return Flaw{"mode", "want at most 3777", quoted(mode) + " has setuid, which means nothing on a directory"}, true
	case octal:
		return Flaw{"mode", "want at most 0777; what runs as somebody else comes in a package", quoted(mode) + " has setuid, setgid or sticky, which no file is given"}, true
	}
	want := "want four octal digits of at most " + most + ", as 0644"
	if of == Directory {
		want = "want four octal digits of at most " + most + ", as 0755"
	}
	if digits := strings.TrimPrefix(mode, "0o"); len(digits) == 3 && strings.Trim(digits, "01234567") == "" {
		want = "want four octal digits, as 0" + digits
	}
	return Flaw{"mode", want, quoted(mode) + " is not a mode"}, true
}

// SaysWhose reports whether the resource says more of who may use what is at its
// path than every host knows: an owner, a group, or a mode above 0777.
func SaysWhose(of Type, mode string, t *Traits) bool {
	if !of.IsFile() {
		return false
	}
	return len(mode) == 4 && mode[0] != '0' || t != nil && (t.Owner != "" || t.Group != "")
}

// whose checks the name or the number of whom something at a path belongs to. It
// may be of a user or a group that the mesh did not make.
func (f *flaws) whose(key, text string) {
	if text == "" {
		return
	}
	if _, number := AccountNumber(text); number {
		return
	}
	first := strings.Trim(text[:1], lettersAndLine) == ""
	if !first || len(text) > 32 || strings.Trim(text, lettersAndLine+"0123456789.-") != "" {
		f.add(key, "want a name, or a number from 0 to 4294967293", "is neither the name nor the number of a user or a group", text)
	}
}

const lettersAndLine = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"

// AccountNumber is the number of a user or a group as it is written, without zeros
// before it; false where this is none, and may be a name.
func AccountNumber(text string) (uint32, bool) {
	const most = 1<<32 - 3
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n > most || n == 65535 || strconv.FormatUint(n, 10) != text {
		return 0, false
	}
	return uint32(n), true
}

// named reports whether text is a name, and no number.
func named(text string) bool {
	_, number := AccountNumber(text)
	return text != "" && !number
}

// Owners is what of the machine a resource at a path belongs to by name, as
// subjects of other resources: "user board", "group board".
func (r *Resource) Owners() []string {
	if r.Traits == nil || !r.Type.IsFile() {
		return nil
	}
	var subjects []string
	if named(r.Owner) {
		subjects = append(subjects, string(User)+" "+r.Owner)
	}
	if named(r.Traits.Group) {
		subjects = append(subjects, string(Group)+" "+r.Traits.Group)
	}
	return subjects
}

func quoted(s string) string { return strconv.Quote(document.Short(s)) }
