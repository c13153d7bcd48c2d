package javascript

import (
	"path"
	"strings"
)

// most is how many patterns a workspace may have; people write ten.
const most = 1000

// workspace is the folders that a package has for its members.
type workspace struct {
	wanted, unwanted []string
	read             int
}

// workspace is that of a folder; one without members where nothing speaks of any.
func (p *project) workspace(folder string, manifest value) *workspace {
	w := &workspace{}
	list := manifest.get("workspaces")
	if len(list.fields) > 0 {
		list = list.get("packages")
	}
	for _, each := range list.texts() {
		w.add(each.text)
	}
	if file := path.Join(folder, "pnpm-workspace.yaml"); p.texts[file] != nil && p.readable(file) {
		members, line, why := members(string(p.texts[file]))
		if why != "" {
			p.fault(file, line, "%s", why)
		}
		for _, each := range members {
			w.add(each)
		}
	}
	if w.read > most {
		p.fault(path.Join(folder, "package.json"), list.line, "the workspace has more than %d patterns, and no more are read", most)
	}
	return w
}

func (w *workspace) add(pattern string) {
	list := &w.wanted
	if rest, not := strings.CutPrefix(pattern, "!"); not {
		list, pattern = &w.unwanted, rest
	}
	if w.read++; w.read > most {
		return
	}
	for _, each := range braces(pattern) {
		*list = append(*list, strings.Trim(path.Clean("/"+each), "/"))
	}
}

// has reports whether a folder is a member's, by its path in the workspace.
func (w *workspace) has(folder string) bool {
	return anyFits(w.wanted, folder) && !anyFits(w.unwanted, folder)
}

func anyFits(patterns []string, folder string) bool {
	for _, each := range patterns {
		if fits(strings.Split(each, "/"), strings.Split(folder, "/")) {
			return true
		}
	}
	return false
}

// fits matches a path piece by piece, where ** is any number of them. It keeps the
// set of places in the pattern that may come next, so it never goes back.
func fits(pattern, pieces []string) bool {
	now := make([]bool, len(pattern)+1)
	now[0] = true
	passOver(pattern, now)
	for _, piece := range pieces {
		next := make([]bool, len(pattern)+1)
		for i, each := range pattern {
			switch {
			case !now[i]:
			case each == "**":
				next[i] = true
			default:
				is, err := path.Match(each, piece)
				next[i+1] = next[i+1] || is && err == nil
			}
		}
		passOver(pattern, next)
		now = next
	}
	return now[len(pattern)]
}

// passOver lets each ** of the places in a pattern stand for nothing.
func passOver(pattern []string, set []bool) {
	for i, each := range pattern {
		set[i+1] = set[i+1] || set[i] && each == "**"
	}
}

// braces is each pattern that one with {a,b} in it stands for, as far as there are few.
func braces(pattern string) []string {
	done, open := []string{}, []string{pattern}
	for len(open) > 0 && len(done)+len(open) <= alike {
		each := open[0]
		open = open[1:]
		before, rest, found := strings.Cut(each, "{")
		inner, after, closed := strings.Cut(rest, "}")
		if !found || !closed {
			done = append(done, each)
			continue
		}
		for _, choice := range strings.Split(inner, ",") {
			open = append(open, before+choice+after)
		}
	}
	return done
}

// members is the list that stands under packages in a pnpm-workspace.yaml, in any form
// that a list of strings has; of the rest of YAML nothing is read.
func members(yaml string) (list []string, line int, why string) {
	lines := strings.Split(yaml, "\n")
	within := false
	for i, text := range lines {
		text = strings.TrimRight(strings.TrimPrefix(text, "\ufeff"), " \t\r")
		bare := strings.TrimLeft(text, " \t")
		item, listed := strings.CutPrefix(bare+" ", "- ")
		switch {
		case bare == "" || bare[0] == '#':
		case within && listed:
			item, ok := scalar(strings.TrimSpace(item))
			if !ok {
				return list, i + 1, plainOnly
			}
			list = append(list, item)
		case bare == text:
			rest, is := packagesKey(text)
			if within = is && rest == ""; is && !within {
				return flowed(rest, lines, i)
			}
		case within:
			return list, i + 1, plainOnly
		}
	}
	return list, 0, ""
}

const plainOnly = "the list of packages is read where each is a plain or quoted string on its line"

// flowed is a list in brackets that begins on a line.
func flowed(rest string, lines []string, i int) (list []string, line int, why string) {
	list, ok := flow(rest, lines[i+1:])
	if !ok {
		return nil, i + 1, "packages is read where it is a list of strings"
	}
	return list, 0, ""
}

// packagesKey is what stands behind packages: on its line.
func packagesKey(text string) (rest string, is bool) {
	for _, key := range []string{"packages:", "'packages':", `"packages":`} {
		if rest, is := strings.CutPrefix(text, key); is {
			rest, _, _ = strings.Cut(" "+rest, " #")
			return strings.TrimSpace(rest), true
		}
	}
	return "", false
}

// scalar is a plain or quoted string, and whatever comment stands behind it.
func scalar(text string) (string, bool) {
	if text == "" {
		return "", false
	}
	if quote := text[0]; quote == '"' || quote == '\'' {
		said, rest, closed := strings.Cut(text[1:], string(quote))
		rest = strings.TrimSpace(rest)
		return said, closed && (rest == "" || rest[0] == '#') && !strings.Contains(said, `\`)
	}
	plain, _, _ := strings.Cut(text, " #")
	plain = strings.TrimSpace(plain)
	return plain, !strings.ContainsAny(plain[:1], "&*|>%@`[{!") && !strings.Contains(plain, ": ")
}

// flow is a list in brackets, which may go on for more lines.
func flow(first string, lines []string) ([]string, bool) {
	if !strings.HasPrefix(first, "[") {
		return nil, false
	}
	var all strings.Builder
	all.WriteString(first[1:])
	for _, each := range lines {
		if strings.Contains(first, "]") {
			break
		}
		first, _, _ = strings.Cut(" "+strings.TrimSpace(each), " #")
		all.WriteString(" " + first)
	}
	inner, _, closed := strings.Cut(all.String(), "]")
	var list []string
	for _, each := range strings.Split(inner, ",") {
		if each = strings.TrimSpace(each); each == "" {
			continue
		}
		item, ok := scalar(each)
		if !ok {
			return nil, false
		}
		list = append(list, item)
	}
	return list, closed
}
