package supply

import (
	"encoding/json"
	"slices"
	"strings"

	"noxmesh/builder/lock"
	"noxmesh/internal/fault"
)

const (
	mostGoMod = 16 << 20
	mostGoZip = 500 << 20
)

// addGo serves what go.sum names as a proxy of Go modules does.
func (x *Session) addGo() {
	if x.from.Go == "" {
		return
	}
	versions := map[string][]string{}
	for _, m := range merged(x.order.Locks.Go) {
		module, version := escaped(m.Module), escaped(m.Version)
		at := "/go/" + module + "/@v/" + version
		from := x.from.Go + "/" + module + "/@v/" + version
		one := file{name: m.Module + " " + m.Version, in: m.In}
		if len(m.Mod) > 0 {
			mod := one
			mod.hashes, mod.from, mod.media, mod.most = m.Mod, place{url: from + ".mod", own: true}, "text/plain; charset=UTF-8", mostGoMod
			x.answers[at+".mod"] = x.give(mod)
		}
		if len(m.Zip) > 0 {
			zip := one
			zip.hashes, zip.from, zip.media, zip.most = m.Zip, place{url: from + ".zip", own: true}, "application/zip", mostGoZip
			x.answers[at+".zip"] = x.give(zip)
			versions[module] = append(versions[module], m.Version)
		}
		x.answers[at+".info"] = text("application/json", goInfo(m.Version))
	}
	for module, all := range versions {
		slices.Sort(all)
		x.answers["/go/"+module+"/@v/list"] = text("text/plain; charset=UTF-8", strings.Join(all, "\n")+"\n")
	}
}

// goInfo is what is known of a version: that there is one. When it was made is
// nothing that go.sum vouches for, and no build needs it.
func goInfo(version string) string {
	b, err := json.Marshal(struct{ Version string }{version})
	if err != nil {
		return ""
	}
	return string(b)
}

// merged is each version once, whichever lock files name it.
func merged(all []lock.Go) []lock.Go {
	at := map[string]int{}
	var once []lock.Go
	for _, m := range all {
		key := m.Module + " " + m.Version
		i, known := at[key]
		if !known {
			at[key], once = len(once), append(once, m)
			continue
		}
		once[i].Zip, once[i].Mod = append(slices.Clip(once[i].Zip), m.Zip...), append(slices.Clip(once[i].Mod), m.Mod...)
	}
	return once
}

// escaped is a path or a version as proxies write it, for file systems that do
// not tell capital letters from small ones.
func escaped(s string) string {
	var out strings.Builder
	for _, c := range []byte(s) {
		if c >= 'A' && c <= 'Z' {
			out.WriteByte('!')
			c += 'a' - 'A'
		}
		out.WriteByte(c)
	}
	return out.String()
}

// unnamedGo is what is said of a module that go.sum does not have.
func (x *Session) unnamedGo(path string) error {
	if x.from.Go == "" {
		return nowhere("Go modules", "--go-proxy")
	}
	module, version, _ := strings.Cut(path, "/@")
	version = strings.TrimPrefix(version, "v/")
	for _, end := range []string{".info", ".mod", ".zip", "list"} {
		version = strings.TrimSuffix(version, end)
	}
	return fault.New(fault.NotFound, "the Go module %s is in no go.sum of the tree", shortly(strings.TrimSpace(module+" "+version))).
		With("go mod tidy, and commit go.mod and go.sum")
}

// envGo has the go command ask here and nowhere else. It holds what it gets
// against go.sum itself; a database of sums could not be reached.
func (x *Session) envGo() [][2]string {
	if !x.reads("go.sum", "go.work.sum") {
		return nil
	}
	return [][2]string{{"GOPROXY", x.order.At + "/go"}, {"GOSUMDB", "off"}, {"GOTOOLCHAIN", "local"}}
}
