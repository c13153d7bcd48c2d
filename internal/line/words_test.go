//go:build meshcrash

package line

import (
	"regexp"
	"strings"
)

// unsaid is an effect, on all its ways or on those through one call, whose failure
// nobody needs to hear of.
type unsaid struct{ name, call, why string }

func silents() []unsaid {
	return []unsaid{
		{"keep.reserve.make", "", "where there is no room to keep there was none to lose"},
		{"keep.latest.touch", "", "only mesh-host status reads it: it shows an older look then"},
		{"keep.file.remove", "host/keep.(*Folder).KeepIndexes", "an index that stays is not read again, and goes with the next that goes"},
	}
}

// silent is why nobody needs to hear that an effect failed on this way, or empty.
func silent(name, calls string) string {
	for _, u := range silents() {
		if u.name == name && strings.Contains(calls, u.call) {
			return u.why
		}
	}
	return ""
}

// message is what a person can read.
type message struct{ where, text string }

// says reports whether it names what could not be done, and why: this very place,
// which no other message of the mesh has in it, and a thing that a person knows.
// What is only said to whoever follows the program's doings is told to nobody.
func (m message) says(place, words string) bool {
	own := place + ": " + words
	if !strings.Contains(m.text, own) || regexp.MustCompile(`\blevel=(DEBUG|INFO)\b`).MatchString(m.text) {
		return false
	}
	rest := strings.ReplaceAll(m.text, own, "")
	rest = regexp.MustCompile(`msg="[^"]*"`).ReplaceAllString(rest, "")
	return regexp.MustCompile(`\\?"[^"\\]+\\?"|(path|module|node|subject|request)=`).MatchString(rest)
}
