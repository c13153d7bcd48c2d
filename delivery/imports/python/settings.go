package python

import (
	"maps"
	"path"
	"slices"
	"strings"

	"noxmesh/delivery/imports"
)

// settings is what a project's own files say of where its packages lie.
type settings struct {
	project bool   // they describe a project, and not only the settings of tools
	name    string // of the project, as a package is written
	none    bool   // it gives nothing to others
	byName  bool   // without more, its package has its name
	from    string // where that package lies
	gifts   []gift // that are written out, by paths from the project's folder

	// setuptools' own; nil is not said
	dirs     map[string]string
	packages []string
	modules  []string
	find     *finder
	paths    []string // that its tests may import from
}

// finder is setuptools' find and find_namespace.
type finder struct {
	where, include, exclude []string
	shared                  bool
}

// packageName is a project's name as its package is written.
func packageName(name string) string { return strings.NewReplacer("-", "_", " ", "_").Replace(name) }

// pyproject reads what a pyproject.toml says into s.
func (s *settings) pyproject(root *value) {
	tool := root.at("tool")
	s.project = s.project || root.at("project") != nil || root.at("build-system") != nil || tool.at("poetry") != nil
	name := root.at("project", "name").string()
	if name == "" {
		name = tool.at("poetry", "name").string()
	}
	if name != "" {
		s.name = packageName(name)
	}
	s.none = tool.at("uv", "package").no() || tool.at("poetry", "package-mode").no() || tool.at("pdm", "distribution").no()
	s.paths = append(s.paths, tool.at("pytest", "ini_options", "pythonpath").strings()...)
	s.paths = append(s.paths, tool.at("pytest", "pythonpath").strings()...)
	switch backend := root.at("build-system", "build-backend").string(); {
	case strings.HasPrefix(backend, "hatchling"):
		s.hatch(tool.at("hatch", "build"))
	case strings.HasPrefix(backend, "poetry"), backend == "" && tool.at("poetry") != nil:
		s.poetry(tool.at("poetry"))
	case strings.HasPrefix(backend, "flit"):
		s.flit(tool.at("flit"))
	case strings.HasPrefix(backend, "pdm"):
		s.pdm(tool.at("pdm", "build"))
	case strings.HasPrefix(backend, "uv_build"):
		s.uv(tool.at("uv", "build-backend"))
	case strings.HasPrefix(backend, "maturin"):
		s.maturin(tool.at("maturin"))
	case strings.HasPrefix(backend, "scikit_build_core"):
		s.scikit(tool.at("scikit-build", "wheel"))
	default:
		s.setuptools(tool.at("setuptools"))
	}
}

// one is the gift of a package or module at a path, under its own name.
func (s *settings) one(at string) {
	at = strings.TrimSuffix(path.Clean("/" + at)[1:], ".py")
	if base := path.Base(at); at != "" && identifier(base) {
		s.gifts = append(s.gifts, gift{path: at, name: base, shared: true})
	}
}

// all is the gift of what lies in a folder.
func (s *settings) all(at string) {
	s.gifts = append(s.gifts, gift{path: path.Clean("/" + at)[1:], all: true, modules: true, shared: true})
}

func (s *settings) hatch(build *value) {
	s.byName = true
	wheel := build.at("targets", "wheel")
	forced := either(wheel, build, "force-include").pairs()
	for _, at := range slices.Sorted(maps.Keys(forced)) {
		s.named(at, strings.Trim(forced[at], "/"))
	}
	for _, of := range []*value{wheel, build} {
		if list := of.at("packages"); list != nil {
			for _, at := range list.strings() {
				s.one(at)
			}
			return
		}
	}
	sources := either(wheel, build, "sources")
	only := either(wheel, build, "only-include").strings()
	if only == nil {
		only = plainOf(either(wheel, build, "include").strings())
	}
	for _, at := range only {
		if rest, as, is := renamed(at, sources); is {
			s.named(at, path.Join(as, rest))
		} else {
			s.under(at, sources.strings())
		}
	}
}

// plainOf is what stands in patterns, as in a .gitignore, before the first * of each.
func plainOf(patterns []string) (plain []string) {
	for _, at := range patterns {
		if at, _, _ = strings.Cut(at, "*"); strings.Trim(at, "/") != "" && !strings.HasPrefix(at, "!") {
			plain = append(plain, at)
		}
	}
	return plain
}

// either is what a target says of a key, or else what is said of all of them.
func either(target, all *value, key string) *value {
	if v := target.at(key); v != nil {
		return v
	}
	return all.at(key)
}

// renamed is what of a path is behind the folder of which a table says what it is called.
func renamed(at string, sources *value) (rest, as string, is bool) {
	at = path.Clean("/" + at)[1:]
	for _, prefix := range imports.Prefixes(at, "/") {
		if as, is := sources.pairs()[prefix]; is {
			return strings.Trim(strings.TrimPrefix(at, prefix), "/"), strings.Trim(as, "/"), true
		}
	}
	return "", "", false
}

// pairs is a table of strings.
func (v *value) pairs() map[string]string {
	if v == nil || v.kind != valueTable {
		return nil
	}
	all := map[string]string{}
	for key, each := range v.table {
		all[strings.Trim(path.Clean("/"+key), "/")] = each.string()
	}
	return all
}

// scikit is scikit-build-core, which has Python packages beside what CMake makes.
func (s *settings) scikit(wheel *value) {
	s.byName, s.from = true, "python"
	packages := wheel.at("packages")
	for _, at := range packages.strings() {
		s.one(at)
	}
	pairs := packages.pairs()
	for _, as := range slices.Sorted(maps.Keys(pairs)) {
		s.named(path.Clean("/" + pairs[as])[1:], as)
	}
}

// under is the gift of what lies at a path, by its name from the nearest of these folders.
func (s *settings) under(at string, sources []string) {
	at = path.Clean("/" + at)[1:]
	for _, source := range sources {
		source = path.Clean("/" + source)[1:]
		if at == source {
			s.all(at)
			return
		}
		if rest, found := strings.CutPrefix(at, source+"/"); found {
			s.named(at, rest)
			return
		}
	}
	s.named(at, at)
}

// named is the gift of what lies at a path, by the name that another path is.
func (s *settings) named(at, as string) {
	as = strings.ReplaceAll(strings.TrimSuffix(as, ".py"), "/", ".")
	if dottedName(as) {
		s.gifts = append(s.gifts, gift{path: strings.TrimSuffix(at, ".py"), name: as, shared: true})
	}
}

func (s *settings) poetry(poetry *value) {
	s.byName = true
	packages := poetry.at("packages")
	if packages == nil {
		return
	}
	for _, each := range packages.list {
		include, _, _ := strings.Cut(each.at("include").string(), "*")
		from := each.at("from").string()
		include = strings.Trim(include, "/")
		switch to := strings.Trim(each.at("to").string(), "/"); {
		case include != "":
			s.named(path.Join(from, include), path.Join(to, include))
		case to == "":
			s.all(from)
		default:
			s.named(from, to)
		}
	}
}

func (s *settings) flit(flit *value) {
	s.byName = true
	name := flit.at("module", "name").string()
	if name == "" {
		name = flit.at("metadata", "module").string()
	}
	if name != "" {
		s.name = name
	}
}

func (s *settings) pdm(build *value) {
	if dir := build.at("package-dir").string(); dir != "" {
		s.all(dir)
	}
	for _, at := range build.at("includes").strings() {
		if at, _, _ = strings.Cut(at, "*"); strings.Trim(at, "/") != "" {
			s.under(at, []string{"src"})
		}
	}
}

func (s *settings) uv(backend *value) {
	s.byName, s.from = true, "src"
	if root := backend.at("module-root"); root != nil {
		s.from = root.string()
	}
	for _, name := range backend.at("module-name").strings() {
		s.named(path.Join(s.from, strings.ReplaceAll(name, ".", "/")), name)
	}
}

func (s *settings) maturin(maturin *value) {
	if from := maturin.at("python-source").string(); from != "" {
		s.all(from)
		return
	}
	s.byName = true
	if name, _, _ := strings.Cut(maturin.at("module-name").string(), "."); name != "" {
		s.name = name
	}
}

func (s *settings) setuptools(tool *value) {
	if dirs := tool.at("package-dir"); dirs != nil && dirs.kind == valueTable {
		s.dirs = map[string]string{}
		for name, dir := range dirs.table {
			s.dirs[name] = dir.string()
		}
	}
	if modules := tool.at("py-modules"); modules != nil {
		s.modules = append([]string{}, modules.strings()...)
	}
	packages := tool.at("packages")
	if packages == nil {
		return
	}
	if find := packages.at("find"); find != nil {
		s.find = &finder{
			where: find.at("where").strings(), include: find.at("include").strings(), exclude: find.at("exclude").strings(),
			shared: !find.at("namespaces").no(),
		}
	} else if packages.kind == valueList {
		s.packages = append([]string{}, packages.strings()...)
	}
}

// cfg reads what a setup.cfg says into s, as far as nothing else has said it.
func (s *settings) cfg(sections ini) {
	s.project = s.project || sections["options"] != nil || sections.get("metadata", "name") != ""
	if s.name == "" {
		s.name = packageName(sections.get("metadata", "name"))
	}
	if dirs := sections["options"]["package_dir"]; dirs != nil && s.dirs == nil {
		s.dirs = paired(sections.get("options", "package_dir"))
	}
	if modules := sections["options"]["py_modules"]; modules != nil && s.modules == nil {
		s.modules = append([]string{}, listed(sections.get("options", "py_modules"))...)
	}
	packages := strings.TrimSpace(sections.get("options", "packages"))
	switch {
	case packages == "" || s.packages != nil || s.find != nil:
	case packages == "find:" || packages == "find_namespace:":
		const section = "options.packages.find"
		s.find = &finder{
			where:   listed(sections.get(section, "where")),
			include: listed(sections.get(section, "include")),
			exclude: listed(sections.get(section, "exclude")),
			shared:  packages == "find_namespace:",
		}
	default:
		s.packages = listed(packages)
	}
}

// maxWide is in how many folders of one project packages are looked for.
const maxWide = 64

// wide leaves of the folders in which packages are looked for as many as are read,
// each once, and reports whether there were more.
func (s *settings) wide() bool {
	seen := map[string]bool{}
	more := false
	s.gifts = slices.DeleteFunc(s.gifts, func(g gift) bool {
		key := g.path + ":" + g.name
		again := seen[key]
		over := !again && len(seen) >= maxWide
		more = more || over
		if !again && !over {
			seen[key] = true
		}
		return again || over
	})
	if s.find != nil {
		slices.Sort(s.find.where)
		s.find.where = slices.Compact(s.find.where)
		if len(s.find.where) > maxWide {
			s.find.where, more = s.find.where[:maxWide], true
		}
	}
	return more
}
