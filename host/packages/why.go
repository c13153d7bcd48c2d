package packages

import (
	"context"
	"slices"
	"strings"

	"noxmesh/host/system"
	"noxmesh/internal/fault"
)

// lines is those that begin with one of these, each without what it begins with where that is a warning or an error.
func lines(text string, begin ...string) []string {
	var out []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if slices.ContainsFunc(begin, func(b string) bool { return strings.HasPrefix(line, b) }) {
			line = strings.TrimPrefix(strings.TrimPrefix(line, "W: "), "E: ")
			out = append(out, strings.Join(strings.Fields(line), " "))
		}
	}
	return out
}

// stale reports whether what apt knows of its sources may be why it failed.
func (*aptRun) stale(done system.Done) bool {
	return unknown(done.Out) || unfetched(done.Out) != ""
}

func unknown(said string) bool {
	for _, line := range lines(said, "E: ") {
		if strings.HasPrefix(line, "Unable to locate package ") || strings.HasPrefix(line, "Version ") && strings.HasSuffix(line, " was not found") ||
			strings.HasPrefix(line, "Package ") && strings.HasSuffix(line, " has no installation candidate") {
			return true
		}
	}
	return false
}

// unfetched is what could not be fetched, and why.
func unfetched(said string) string {
	all := lines(said, "E: Failed to fetch ")
	for i, line := range all {
		all[i] = strings.TrimPrefix(line, "Failed to fetch ")
	}
	return strings.Join(all, "; ")
}

// blamed reports whether apt-get or dpkg names the package with what stands against it.
func blamed(name, out string) bool {
	bare := bare(name)
	text := strings.Join(lines(out, "E: ", "dpkg: error processing package "), "\n") + "\n" + section(out, unmet)
	return slices.ContainsFunc(strings.Fields(text), func(word string) bool {
		word = strings.Trim(word, "'\"")
		called, _, _ := strings.Cut(word, ":")
		return called == bare || strings.Contains(word, "/"+bare+"_") && strings.HasSuffix(word, ".deb")
	})
}

// The headings of what apt-get lists.
const (
	unmet   = "The following packages have unmet dependencies:"
	removed = "The following packages will be REMOVED:"
)

// why is what stood against one package, and what to do about it.
func (r *aptRun) why(ctx context.Context, w Want, done system.Done) error {
	if by := noRoom(done); by != nil {
		return by
	}
	if why := failedIn(w.Name, done); why != "" {
		return fault.New(fault.Conflict, "%s", why).With("dpkg --configure %s says more; it is tried again at the next look", w.Name)
	}
	if unknown(done.Out) {
		return r.missing(ctx, w)
	}
	if what := unfetched(done.Out); what != "" {
		return fault.New(fault.Conflict, "no source gives what they say that they have: %s", what).
			With("where the sources of this machine are right, it is for whoever keeps them")
	}
	if gone := section(done.Out, removed); gone != "" {
		return fault.New(fault.Conflict, "it cannot be there beside %s", gone).With("remove them yourself, or take it out of the declaration")
	}
	if lacks := section(done.Out, unmet); lacks != "" {
		return fault.New(fault.Conflict, "what it needs is not to be had: %s", lacks).With("apt-get install %s says more", w.Name)
	}
	if all := lines(done.Out, "E: ", "dpkg: error"); len(all) > 0 {
		return fault.New(fault.Conflict, "apt-get says: %s", strings.Join(all, "; "))
	}
	if err := done.Failed(Apt); err != nil {
		return err
	}
	return fault.New(fault.Conflict, "apt-get ended well, and it is not as declared").With("apt-get install %s says more", w.Name)
}

// noRoom is the disk on which apt or dpkg could not do what they write.
func noRoom(done system.Done) error {
	return system.Blamed(done.Out, "/var/lib/dpkg", "/usr", "/var/cache/apt/archives", "/var/lib/apt/lists", "/etc", "/boot", "/var")
}

// missing is what the sources of the machine do not have.
func (r *aptRun) missing(ctx context.Context, w Want) error {
	if r.refused != nil {
		return fault.Wrap(fault.Conflict, r.refused, "ask the sources of this machine what they have")
	}
	todo := "name one that has it in a file below /etc/apt/sources.list.d"
	if r.missed != "" {
		todo = "not all of them answered: " + r.missed
	}
	if w.Version == "" {
		return fault.New(fault.Conflict, "no source of this machine has it").With("%s", todo)
	}
	done, err := r.run(ctx, "apt-cache", "madison", w.Name)
	if err != nil {
		return err
	}
	var versions []string
	for line := range strings.Lines(done.Out) {
		if f := strings.Split(line, "|"); len(f) == 3 && !slices.Contains(versions, strings.TrimSpace(f[1])) {
			versions = append(versions, strings.TrimSpace(f[1]))
		}
	}
	if len(versions) == 0 {
		return fault.New(fault.Conflict, "no source of this machine has it").With("%s", todo)
	}
	return fault.New(fault.Conflict, "no source of this machine has version %s of it, but %s", w.Version, strings.Join(versions, ", ")).With("%s", todo)
}

// failedIn is how dpkg failed with one package, with the last that its script said.
func failedIn(name string, done system.Done) string {
	before, after, ok := cutAt(done.Out, name)
	if !ok {
		return ""
	}
	after, _, _ = strings.Cut(strings.TrimSpace(after), "\n")
	if said := lastLine(before); said != "" {
		after += ": " + said
	}
	return after
}

// cutAt is what was said before and after dpkg named its error with a package. It
// may name the architecture.
func cutAt(said, name string) (before, after string, ok bool) {
	const naming = "dpkg: error processing package "
	bare := bare(name)
	rest, at := said, 0
	for {
		i := strings.Index(rest, naming)
		if i < 0 {
			return "", "", false
		}
		line, tail, _ := strings.Cut(rest[i+len(naming):], "\n")
		called, _, _ := strings.Cut(line, " ")
		called, _, _ = strings.Cut(called, ":")
		if called == bare {
			return said[:at+i], tail, true
		}
		at += len(rest) - len(tail)
		rest = tail
	}
}

// lastLine is the last that a script said, where it is one that said it.
func lastLine(text string) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	last := all[len(all)-1]
	for _, not := range []string{" ", "dpkg: ", "debconf: ", "W: ", "E: ", "Errors were encountered"} {
		if strings.HasPrefix(last, not) {
			return ""
		}
	}
	return strings.TrimSpace(last)
}

// section is what stands below a heading of apt-get's, indented.
func section(out, heading string) string {
	_, rest, ok := strings.Cut(out, heading+"\n")
	if !ok {
		return ""
	}
	var all []string
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, " ") {
			break
		}
		all = append(all, strings.Fields(line)...)
	}
	return strings.Join(all, " ")
}

// whyStays is what stands against the removal of a package.
func whyStays(name string, done system.Done) error {
	if by := noRoom(done); by != nil {
		return by
	}
	_, rest, ok := strings.Cut(done.Out, "dpkg: dependency problems prevent removal of "+bare(name))
	if ok {
		_, rest, _ = strings.Cut(rest, "\n")
		var by []string
		for line := range strings.Lines(rest) {
			if !strings.HasPrefix(line, " ") {
				break
			}
			by = append(by, strings.TrimSuffix(strings.TrimSpace(line), "."))
		}
		return fault.New(fault.Conflict, "%s", strings.Join(by, "; ")).With("it is removed when nothing on the machine needs it")
	}
	if why := failedIn(name, done); why != "" {
		return fault.New(fault.Conflict, "%s", why).With("dpkg --remove %s says more", name)
	}
	if err := done.Failed(dpkg); err != nil {
		return err
	}
	return fault.New(fault.Conflict, "it is there again")
}

// conffiles is what became of configuration files that somebody had changed, by the
// name of the package that was wanted.
func conffiles(out string, wanted []Want) map[string][]string {
	says := map[string][]string{}
	var of, file string
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "Setting up "); ok {
			name, _, _ = strings.Cut(name, " ")
			of, _, _ = strings.Cut(name, ":")
		}
		if name, ok := strings.CutPrefix(line, "Configuration file '"); ok {
			file = strings.TrimSuffix(name, "'")
		}
		text := ""
		switch {
		case strings.HasPrefix(line, "==> Keeping old "):
			text = file + " was changed on the machine and is kept; that of the package is " + file + ".dpkg-dist"
		case strings.HasPrefix(line, "==> Using new "):
			text = file + " was changed on the machine and is replaced; it is " + file + ".dpkg-old now"
		}
		i := slices.IndexFunc(wanted, func(w Want) bool { return bare(w.Name) == of })
		if text != "" && i >= 0 {
			says[wanted[i].Name] = append(says[wanted[i].Name], text)
		}
	}
	return says
}
