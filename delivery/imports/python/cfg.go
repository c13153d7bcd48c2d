package python

import "strings"

// ini is the sections of a setup.cfg, each value by its lines.
type ini map[string]map[string][]string

// get is a value; empty where there is none.
func (i ini) get(section, key string) string { return strings.Join(i[section][key], "\n") }

// parseCFG reads a setup.cfg as Python's configparser does, or says where and why it is none.
func parseCFG(text string) (sections ini, line int, why string) {
	sections = ini{}
	section, key := "", ""
	for each := range strings.SplitSeq(text, "\n") {
		line++
		plain := strings.TrimSpace(each)
		switch {
		case plain == "" || plain[0] == '#' || plain[0] == ';':
		case (each[0] == ' ' || each[0] == '\t') && key != "":
			sections[section][key] = append(sections[section][key], plain)
		case plain[0] == '[':
			section, key = strings.TrimPrefix(before(plain, "]"), "["), ""
			if section == "" || sections[section] != nil {
				return sections, line, "the name of a section is empty, not closed or there already"
			}
			sections[section] = map[string][]string{}
		case section == "":
			return sections, line, "a line stands before the first section"
		default:
			key = strings.ToLower(strings.TrimSpace(before(plain, "=:")))
			if key == "" || sections[section][key] != nil {
				return sections, line, "a line is neither a section nor a new key = value"
			}
			sections[section][key] = []string{strings.TrimSpace(plain[strings.IndexAny(plain, "=:")+1:])}
		}
	}
	return sections, 0, ""
}

// before is what stands before the first of these characters; empty where there is none.
func before(text, characters string) string { return text[:max(0, strings.IndexAny(text, characters))] }

// listed is a value as setuptools reads a list: by lines, or else by commas.
func listed(text string) []string {
	separator := ","
	if strings.Contains(text, "\n") {
		separator = "\n"
	}
	var all []string
	for one := range strings.SplitSeq(text, separator) {
		if one = strings.TrimSpace(one); one != "" {
			all = append(all, one)
		}
	}
	return all
}

// paired is a value as setuptools reads a dict: key = value by lines or commas.
func paired(text string) map[string]string {
	all := map[string]string{}
	for _, one := range listed(text) {
		key, value, found := strings.Cut(one, "=")
		if found {
			all[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return all
}
