package lock

import (
	"encoding/hex"
	"strings"

	"noxmesh/internal/fault"
)

// DecodePython reads a requirements file of pip. One in which nothing has a hash
// locks nothing, and nothing is wrong with that.
func DecodePython(file string, data []byte) (all []Python, faults []error) {
	known := map[string]int{}
	var without []error
	logical(data, func(n int, line string) {
		p, err := requirement(line)
		switch {
		case err != nil:
			without = append(without, fault.Add(err, "%s", at(file, n)))
		case p.Project == "":
		default:
			i, is := known[p.Project]
			if !is {
				i = len(all)
				known[p.Project], all = i, append(all, Python{Project: p.Project, In: file})
			}
			all[i].Hashes = append(all[i].Hashes, p.Hashes...)
		}
	})
	if len(all) == 0 {
		return nil, nil
	}
	return all, without
}

// logical is each line that says something, with those that it goes on on.
func logical(data []byte, do func(n int, line string)) {
	first, whole := 0, ""
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		if first == 0 {
			first = n
		}
		line = strings.TrimRight(line, "\r\n")
		if part, goesOn := strings.CutSuffix(line, "\\"); goesOn && !strings.HasPrefix(strings.TrimSpace(line), "#") {
			whole += part + " "
			continue
		}
		say(first, whole+line, do)
		first, whole = 0, ""
	}
	if whole != "" {
		say(first, whole, do)
	}
}

func say(n int, line string, do func(n int, line string)) {
	if strings.HasPrefix(strings.TrimSpace(line), "#") {
		return
	}
	for _, comment := range []string{" #", "\t#"} {
		line, _, _ = strings.Cut(line, comment)
	}
	if line = strings.TrimSpace(line); line != "" {
		do(n, line)
	}
}

// requirement is one line. An option names no project.
func requirement(line string) (Python, error) {
	words := strings.Fields(strings.ReplaceAll(line, "--hash ", "--hash="))
	if strings.HasPrefix(line, "-") {
		option, _, _ := strings.Cut(words[0], "=")
		switch option {
		case "-i", "--index-url", "--extra-index-url", "-f", "--find-links":
			return Python{}, fault.New(fault.Invalid, "%s has pip look elsewhere, which it cannot from inside a build", option).
				With("take the line out: what has a hash is fetched from where the builder's operator says")
		}
		return Python{}, nil
	}
	head := line
	if i := strings.IndexAny(line, " \t[;=<>!~@"); i >= 0 {
		head = line[:i]
	}
	p := Python{Project: projectName(head)}
	if p.Project == "" {
		return p, fault.New(fault.Invalid, "%q is no name of a project", short(head))
	}
	for _, word := range words {
		said, ok := strings.CutPrefix(word, "--hash=")
		if !ok {
			continue
		}
		sum, ok := strings.CutPrefix(strings.ToLower(said), "sha256:")
		if b, err := hex.DecodeString(sum); !ok || err != nil || len(b) != SHA256.size() {
			return Python{}, fault.New(fault.Invalid, "the hash %q of %q is none that indexes say, want sha256: and 64 digits", short(said), p.Project)
		}
		p.Hashes = append(p.Hashes, Hash{SHA256, sum})
	}
	if len(p.Hashes) == 0 {
		return Python{}, fault.New(fault.Invalid, "%q has no --hash", short(p.Project)).
			With("pip-compile --generate-hashes, or uv export, writes them")
	}
	return p, nil
}

// projectName is a name as PEP 503 compares names, or "".
func projectName(name string) string {
	if !only(name, "-_.") {
		return ""
	}
	name = strings.ToLower(name)
	words := strings.FieldsFunc(name, func(c rune) bool { return c == '-' || c == '_' || c == '.' })
	if len(words) == 0 || strings.ContainsAny(name[:1]+name[len(name)-1:], "-_.") {
		return ""
	}
	return strings.Join(words, "-")
}
