package javascript

import (
	"path"
	"strings"
)

// chained is how many configurations may extend each other.
const chained = 32

// configFolder is how a configuration names the folder of the one that extends it.
const configFolder = "${configDir}"

// config is what TypeScript's configuration says of names.
type config struct {
	folder      string // of the file that stands beside the code
	paths       *patterns
	pathsFolder string  // of the file that says paths
	base        *string // the folder that names are looked for in first
	jsx, source string
	after       *config // that of another project in the same folder
}

// draft is a config while it is put together from the files that extend each other.
type draft struct {
	paths, base           value
	pathsFolder, baseFrom string
	jsx, source           string
	references            []value
}

// configure is the configuration of a folder's files: of the nearest tsconfig.json, or jsconfig.json.
func (p *project) configure(folder string) *config {
	if known, is := p.configs[folder]; is {
		return known
	}
	var c *config
	switch {
	case p.texts[path.Join(folder, "tsconfig.json")] != nil:
		c = p.config(path.Join(folder, "tsconfig.json"))
	case p.texts[path.Join(folder, "jsconfig.json")] != nil:
		c = p.config(path.Join(folder, "jsconfig.json"))
	case folder != ".":
		c = p.configure(path.Dir(folder))
	}
	p.configs[folder] = c
	return c
}

// config is one file's, and behind it that of the projects beside it which the file refers to.
func (p *project) config(file string) *config {
	d := p.draft(file, chained)
	first := d.config(path.Dir(file))
	last := first
	for i, each := range d.references {
		other := p.resolved(path.Dir(file), each.get("path").text)
		if other == file || path.Dir(other) != path.Dir(file) || i == chained {
			continue
		}
		beside := p.draft(other, chained)
		last.after = beside.config(path.Dir(file))
		last = last.after
	}
	return first
}

func (d draft) config(folder string) *config {
	c := &config{folder: folder, paths: newPatterns(d.paths.fields), pathsFolder: d.pathsFolder, jsx: d.jsx, source: d.source}
	if d.base.isText {
		base := c.resolve(d.base.text, d.baseFrom)
		c.base = &base
	}
	return c
}

// resolve is a path in a configuration that stands in a folder.
func (c *config) resolve(to, from string) string {
	if rest, is := strings.CutPrefix(to, configFolder); is {
		return path.Join(c.folder, rest)
	}
	return path.Join(from, to)
}

// place is the folder that paths start from.
func (c *config) place(folder string) string {
	if c.base != nil {
		return *c.base
	}
	return folder
}

// elements is the package whose functions make elements, where TypeScript imports it for them.
func (c *config) elements() string {
	for ; c != nil; c = c.after {
		switch {
		case c.source != "":
			return c.source
		case c.jsx == "react-jsx" || c.jsx == "react-jsxdev":
			return "react"
		}
	}
	return ""
}

// draft reads a file and those that it extends, each once; one that extends itself extends nothing.
func (p *project) draft(file string, left int) draft {
	if known, is := p.drafts[file]; is || left == 0 {
		return known
	}
	p.drafts[file] = draft{}
	if v, is := p.json(file); is {
		p.drafts[file] = p.drafted(path.Dir(file), v, left)
	}
	return p.drafts[file]
}

func (p *project) drafted(folder string, v value, left int) draft {
	var d draft
	extended := v.get("extends")
	if extended.isText {
		extended.list = []value{extended}
	}
	for _, each := range extended.texts() {
		if strings.HasPrefix(each.text, ".") {
			d.over(p.draft(p.resolved(folder, each.text), left-1))
		}
	}
	options := v.get("compilerOptions")
	d.over(draft{
		paths: options.get("paths"), pathsFolder: folder, base: options.get("baseUrl"), baseFrom: folder,
		jsx: strings.ToLower(options.get("jsx").text), source: options.get("jsxImportSource").text,
	})
	d.references = v.get("references").list
	return d
}

// over lays what another file says over d.
func (d *draft) over(other draft) {
	if other.paths.line > 0 {
		d.paths, d.pathsFolder = other.paths, other.pathsFolder
	}
	if other.base.line > 0 {
		d.base, d.baseFrom = other.base, other.baseFrom
	}
	if other.jsx != "" {
		d.jsx = other.jsx
	}
	if other.source != "" {
		d.source = other.source
	}
}

// resolved is the file that a configuration names: with its ending or without, or a folder.
func (p *project) resolved(folder, to string) string {
	file := path.Join(folder, to)
	for _, each := range []string{file, file + ".json", path.Join(file, "tsconfig.json")} {
		if p.texts[each] != nil {
			return each
		}
	}
	return file
}
