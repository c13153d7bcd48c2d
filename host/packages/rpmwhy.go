package packages

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"noxmesh/host/system"
	"noxmesh/internal/fault"
)

// lockedLines is how dnf says who has its lock.
func lockedLines(out string) []string {
	var all []string
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); strings.Contains(line, "already locked by ") || strings.HasPrefix(line, "The application with PID ") {
			all = append(all, line)
		}
	}
	return all
}

// stale reports whether what dnf knows of its repositories may be why it failed.
func (*dnfRun) stale(done system.Done) bool {
	return strings.Contains(done.Out, "No match for argument: ") || strings.Contains(done.Out, "No packages marked for reinstall") || undelivered(done.Out) != ""
}

// complaint is what dnf says at its end, from "Error: " on.
func complaint(out string) string {
	if strings.HasPrefix(out, "Error: ") {
		return out
	}
	i := strings.LastIndex(out, "\nError: ")
	if i < 0 {
		return ""
	}
	return out[i+1:]
}

func (*dnfRun) blames(name, out string) bool {
	var text strings.Builder
	text.WriteString(complaint(out))
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "No match for argument: ") || strings.Contains(line, "scriptlet") || strings.HasPrefix(line, "Package ") {
			text.WriteString(line)
		}
	}
	return namedIn(name, text.String())
}

// namedIn reports whether a text names the package: alone, with its version, or as a file.
func namedIn(name, text string) bool {
	bare := bare(name)
	return slices.ContainsFunc(strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" \t\n,;:()'\"", c) }), func(word string) bool {
		rest, ok := strings.CutPrefix(word, bare)
		return ok && (rest == "" || rest[0] == '.' || len(rest) > 1 && rest[0] == '-' && strings.Contains("0123456789", rest[1:2]))
	})
}

func (r *dnfRun) why(ctx context.Context, w Want, done system.Done) error {
	in, err := r.Read(ctx, []string{w.Name})
	if err != nil {
		return err
	}
	if why := stands(w, done, in.Of(w.Name).There()); why != nil {
		return why
	}
	return r.missing(ctx, w, done, in)
}

// stands is what stood against one package, which is there now or is not, and what to do
// about it; nil where it is that no repository has it.
func stands(w Want, done system.Done, there bool) error {
	if by := noRoomForRPM(done); by != nil {
		return by
	}
	if said := scriptlet(w.Name, done.Out); said != "" {
		return scriptFailed(said)
	}
	switch what := complaint(done.Out); {
	case strings.Contains(done.Out, "All matches were filtered out by exclude filtering for argument"):
		return fault.New(fault.Conflict, "somebody has excluded it, or this version").
			With("dnf versionlock list says what is locked, and excludepkgs in %s and in the files below /etc/yum.repos.d what is left out", dnfConf)
	case strings.Contains(done.Out, "No match for argument: "), strings.Contains(what, "No packages marked for reinstall"):
		return nil
	case unanswered(what) != "":
		return fault.New(fault.Conflict, "a repository does not answer: %s", unanswered(done.Out)).
			With("where the repositories of this machine are right, it is for whoever keeps them; skip_if_unavailable=1 has dnf go on without one")
	case undelivered(done.Out) != "":
		return fault.New(fault.Conflict, "no repository gives what they say that they have: %s", undelivered(done.Out)).
			With("where the repositories of this machine are right, it is for whoever keeps them")
	case unsigned(done.Out) != "":
		return fault.New(fault.Conflict, "its signature is not one that this machine trusts: %s", unsigned(done.Out)).
			With("the repository's file below /etc/yum.repos.d says by gpgkey who signs")
	case removing(what) != "":
		return fault.New(fault.Conflict, "it cannot be there beside %s", removing(what)).With("remove them yourself, or take it out of the declaration")
	case problems(what) != "":
		return fault.New(fault.Conflict, "dnf finds no way to it: %s", problems(what)).With("dnf install %s says more", bare(w.Name))
	case strings.HasPrefix(what, "Error: Transaction test error"):
		return fault.New(fault.Conflict, "%s", clashes(what)).With("remove the other one yourself, or take one out of the declaration")
	case what != "":
		return fault.New(fault.Conflict, "dnf says: %s", timed(joined(strings.TrimPrefix(what, "Error: "))))
	}
	if err := done.Failed(dnf); err != nil {
		return err
	}
	if !there {
		return fault.New(fault.Conflict, "no package is called that, and dnf takes what provides it").
			With("dnf repoquery --whatprovides %s says what does: declare that", bare(w.Name))
	}
	return fault.New(fault.Conflict, "dnf ended well, and it is not as declared").With("dnf install %s says more", bare(w.Name))
}

// noRoomForRPM is the disk on which dnf or rpm could not do what they write.
func noRoomForRPM(done system.Done) error {
	return system.Blamed(done.Out, append(system.RPMDatabases(), "/usr", "/var/cache/dnf", "/var/lib/dnf", "/etc", "/boot", "/var")...)
}

// halved is that a script of a package has failed that rpm has as installed all the same.
func (*dnfRun) halved(w Want, done system.Done) error {
	if said := scriptlet(w.Name, done.Out); said != "" {
		return scriptFailed(said)
	}
	return nil
}

func scriptFailed(said string) error {
	return fault.New(fault.Conflict, "%s", said).With("it is tried again at the next look")
}

// scriptlet is how a script of this package failed, with the last that it said.
func scriptlet(name, out string) string {
	before := ""
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		rest, failed := strings.CutPrefix(line, "error: %")
		if !failed {
			rest, failed = strings.CutPrefix(line, "warning: %")
		}
		which, how, ok := strings.Cut(rest, ") scriptlet failed, ")
		script, of, is := strings.Cut(which, "(")
		if failed && ok && is && namedIn(name, of) {
			said := "its script %" + script + " failed, " + how
			if before != "" {
				said += ": " + before
			}
			return said
		}
		if line != "" {
			before = line
		}
		if ofDnf(line) {
			before = ""
		}
	}
	return ""
}

// ofDnf reports whether dnf says the line, and no script: how far it is stands at its end.
func ofDnf(line string) bool {
	i := strings.LastIndexByte(line, ' ')
	at, of, ok := strings.Cut(line[i+1:], "/")
	return ok && at != "" && of != "" && strings.Trim(at+of, "0123456789") == ""
}

// missing is what the repositories of the machine do not have.
func (r *dnfRun) missing(ctx context.Context, w Want, done system.Done, in Installed) error {
	todo := "name one that has it in a file below /etc/yum.repos.d"
	if what := unanswered(done.Out); what != "" {
		todo = "not all of them answered: " + what
	}
	version := cmp.Or(w.repeat, w.Version)
	if version == "" {
		return fault.New(fault.Conflict, "no repository of this machine has it").With("%s", todo)
	}
	list, err := r.run(ctx, dnf, "-q", "--setopt=color=never", "--setopt=exit_on_lock=1", "--cacheonly", "list", "--showduplicates", dnfName(w.Name, in))
	if err != nil {
		return err
	}
	versions := offered(list.Out, bare(w.Name))
	if len(versions) == 0 {
		return fault.New(fault.Conflict, "no repository of this machine has it").With("%s", todo)
	}
	return fault.New(fault.Conflict, "no repository of this machine has version %s of it, but %s", version, strings.Join(versions, ", ")).With("%s", todo)
}

// offered is the versions in a list of dnf's that are to be had, the newest first.
func offered(out, name string) []string {
	var versions []string
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "Available ") {
			versions = nil // those before it are installed
		}
		f := strings.Fields(line)
		if len(f) != 3 || !strings.HasPrefix(f[0], name+".") || slices.Contains(versions, f[1]) {
			continue
		}
		versions = append(versions, f[1])
	}
	slices.Reverse(versions)
	return versions
}

// unanswered is which repositories did not say what they have, and why.
func unanswered(out string) string {
	var all []string
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if why, ok := strings.CutPrefix(line, "- "); ok && (strings.HasPrefix(why, "Curl error ") || strings.HasPrefix(why, "Status code: ")) {
			all = appendNew(all, timed(why))
		}
		if why, ok := strings.CutPrefix(line, "Error: Failed to download metadata for repo "); ok {
			repo, _, _ := strings.Cut(why, ":")
			all = appendNew(all, "repository "+repo+" gives no metadata")
		}
	}
	return strings.Join(all, "; ")
}

// undelivered is which packages could not be fetched, and why.
func undelivered(out string) string {
	var all []string
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if why, ok := strings.CutPrefix(line, "[MIRROR] "); ok {
			all = appendNew(all, timed(why))
		}
		if strings.HasPrefix(line, "Error opening ") || strings.Contains(line, " has incorrect checksum") && strings.HasPrefix(line, "Package ") {
			all = appendNew(all, line)
		}
	}
	return strings.Join(all, "; ")
}

// unsigned is what stands against the signature of a package.
func unsigned(out string) string {
	switch {
	case strings.Contains(out, "You have enabled checking of packages via GPG keys."):
		return "it knows nobody's"
	case !strings.Contains(out, "GPG check FAILED"):
		return ""
	}
	var all []string
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		for _, said := range []string{" is not signed", " is not installed", "Couldn't open file ", "Curl error "} {
			if strings.Contains(line, said) && !strings.HasPrefix(line, "Error: ") {
				all = appendNew(all, timed(line))
			}
		}
	}
	if len(all) == 0 {
		return "GPG check FAILED"
	}
	return strings.Join(all, "; ")
}

// removing is what would have to go.
func removing(complaint string) string {
	_, rest, ok := strings.Cut(complaint, "would result in removing the following protected packages: ")
	if !ok {
		return ""
	}
	rest, _, _ = strings.Cut(rest, "\n")
	return strings.Join(strings.FieldsFunc(rest, func(c rune) bool { return c == ',' || c == ' ' }), " ")
}

// problems is why dnf finds no set of packages that go together.
func problems(complaint string) string {
	var all []string
	for line := range strings.Lines(complaint) {
		line = strings.TrimSpace(line)
		if _, why, ok := strings.Cut(line, ": "); ok && strings.HasPrefix(line, "Problem") {
			all = appendNew(all, why)
		} else if why, ok := strings.CutPrefix(line, "- "); ok {
			all = appendNew(all, why)
		}
	}
	all = slices.DeleteFunc(all, func(why string) bool { return why == "conflicting requests" && len(all) > 1 })
	return strings.Join(all, "; ")
}

// clashes is what rpm's test of a transaction says.
func clashes(complaint string) string {
	_, rest, _ := strings.Cut(complaint, "\n")
	return joined(rest)
}

func joined(text string) string {
	var all []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "(try to add ") {
			all = append(all, line)
		}
	}
	return strings.Join(all, "; ")
}

// timed is what curl says, without how long that took: it is another time at each look.
func timed(text string) string {
	before, rest, ok := strings.Cut(text, " after ")
	number, after, ends := strings.Cut(rest, " ms")
	if !ok || !ends || strings.Trim(number, "0123456789") != "" {
		return text
	}
	return before + timed(after)
}

func appendNew(all []string, text string) []string {
	if slices.Contains(all, text) {
		return all
	}
	return append(all, text)
}

// says is what became of configuration files that somebody had changed, by the name of
// the package that was wanted.
func (*dnfRun) says(out string, wanted []Want) map[string][]string {
	says := map[string][]string{}
	of := ""
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if what := handled(line); what != "" {
			of = what
		}
		i := slices.IndexFunc(wanted, func(w Want) bool { return namedIn(w.Name, of) })
		if text := conffile(line); text != "" && i >= 0 {
			says[wanted[i].Name] = append(says[wanted[i].Name], text)
		}
	}
	return says
}

// handled is the package that dnf says in a line that it has begun with.
func handled(line string) string {
	doing, what, ok := strings.Cut(line, ": ")
	if !ok || !slices.Contains([]string{"Installing", "Upgrading", "Downgrading", "Reinstalling"}, strings.TrimSpace(doing)) {
		return ""
	}
	what, _, _ = strings.Cut(strings.TrimSpace(what), " ")
	return what
}

// conffile is what rpm says in a line that it has done with a file that somebody had changed.
func conffile(line string) string {
	rest, _ := strings.CutPrefix(line, "warning: ")
	if was, is, ok := strings.Cut(rest, " created as "); ok && is == was+besides {
		return kept(was)
	}
	if was, is, ok := strings.Cut(rest, " saved as "); ok {
		return exchanged(was, is)
	}
	return ""
}

func blamedByRPM(name, out string) bool {
	var text strings.Builder
	for line := range strings.Lines(out) {
		if what, _, ok := strings.Cut(line, " is needed by "); ok {
			text.WriteString(what + "\n")
		}
		if strings.HasPrefix(line, "error: ") {
			text.WriteString(line)
		}
	}
	return namedIn(name, text.String())
}

// whyStaysRPM is what stands against the removal of a package.
func whyStaysRPM(name string, done system.Done) error {
	if by := noRoomForRPM(done); by != nil {
		return by
	}
	var by []string
	for line := range strings.Lines(done.Out) {
		if _, who, ok := strings.Cut(strings.TrimSpace(line), " is needed by "); ok {
			by = appendNew(by, strings.TrimPrefix(who, "(installed) ")+" needs "+strings.TrimSpace(strings.Split(strings.TrimSpace(line), " is needed by ")[0]))
		}
	}
	if len(by) > 0 {
		return fault.New(fault.Conflict, "%s", strings.Join(by, "; ")).With("it is removed when nothing on the machine needs it")
	}
	if said := scriptlet(name, done.Out); said != "" {
		return fault.New(fault.Conflict, "%s", said).With("rpm -e %s says more", bare(name))
	}
	for line := range strings.Lines(done.Out) {
		if why, ok := strings.CutPrefix(line, "error: "); ok {
			return fault.New(fault.Conflict, "rpm says: %s", strings.TrimSpace(why)).With("rpm -e %s says more", bare(name))
		}
	}
	if err := done.Failed(rpm); err != nil {
		return err
	}
	return fault.New(fault.Conflict, "it is there again")
}
