//go:build meshcrash

package line

import (
	"cmp"
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

// The words by which a message is known to be of an effect where they do not
// name it themselves.
func of() map[string]string {
	const (
		writes   = `write \\?"/`
		removes  = `remove \\?"/`
		registry = `cannot keep .*write \\?"/[^"]*/registry`
	)
	return map[string]string{
		"disk.file.stage": writes, "disk.file.commit": writes, "disk.file.seal": writes,
		"builder.answer.drop": removes, "builder.answer.sweep": removes, "builder.state.sweep": removes, "builder.workshop.clear": removes, "builder.workshop.close": removes,
		"keep.folder.make": `make the state folder \\?"/`, "keep.file.remove": removes,
		"registry.content.stage": registry, "registry.content.commit": registry, "registry.folder.make": registry, "registry.folder.seal": registry,
		"registry.upload.open": registry, "registry.upload.write": registry, "registry.upload.commit": registry, "registry.upload.remove": registry, "registry.blob.move": registry,
	}
}

// family is what failures have in common that are told in the same words.
func family(failure string) string {
	name, _, _ := strings.Cut(failure, "@")
	return cmp.Or(of()[name], name)
}

// says reports whether a message names what could not be done, and why.
func says(name, message, words string) bool {
	own := name + ": " + words
	if !strings.Contains(message, own) && (of()[name] == "" || !regexp.MustCompile(of()[name]).MatchString(message)) {
		return false
	}
	rest := strings.ReplaceAll(strings.ReplaceAll(message, own, ""), words, "")
	rest = regexp.MustCompile(`msg="[^"]*"`).ReplaceAllString(rest, "")
	return regexp.MustCompile(`\\?"[^"\\]+\\?"|(path|module|node|subject|request)=`).MatchString(rest)
}
