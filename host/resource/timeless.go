package resource

import "strings"

// timeless is what a program says of something that is not valid at this time, without the
// time: that is another one at each look, and what is wrong is the same. It may be
// the clock of the machine.
func timeless(text string) string {
	for _, c := range []struct{ from, to string }{
		{" (invalid for another ", ")"}, {" (invalid since ", ")"}, // apt, of a source
		{": current time ", " is after "}, {": current time ", " is before "}, // Go, of a certificate
	} {
		before, rest, ok := strings.Cut(text, c.from)
		_, after, ends := strings.Cut(rest, c.to)
		if !ok || !ends {
			continue
		}
		if c.to != ")" {
			after = strings.TrimLeft(after, "0123456789-+:TZ")
		}
		text = timeless(before + after)
		if !strings.HasSuffix(text, clockHint) {
			text += clockHint
		}
	}
	return text
}

const clockHint = "; timedatectl says whether the clock of this machine is right"
