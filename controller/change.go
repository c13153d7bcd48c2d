package controller

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	mesh "noxmesh"
	"noxmesh/delivery"
	"noxmesh/delivery/artifact"
	"noxmesh/delivery/build"
	"noxmesh/delivery/environment"
	"noxmesh/delivery/source"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/document"
	"noxmesh/internal/planted"
	"noxmesh/inventory"
	inventorystore "noxmesh/inventory/store"
	"noxmesh/manifest"
	"noxmesh/plan"
	"noxmesh/trouble"
)

// at is the place of a module, made where there is none.
func (v *view) at(module string) *moduleView {
	m := v.modules[module]
	if m == nil {
		m = &moduleView{on: map[string]bool{}}
		v.modules[module] = m
	}
	return m
}

func (v *view) setModule(name string, row deliverystore.ModuleRow, known bool) {
	m := v.at(name)
	at, listed := slices.BinarySearch(v.names, name)
	switch {
	case known && !listed:
		v.names = slices.Insert(v.names, at, name)
	case !known && listed:
		v.names = slices.Delete(v.names, at, at+1)
	}
	m.row, m.known = row, known
	v.touched[name] = true
	if !known {
		v.setUnlooked(name, false)
		v.code.Remove(name)
		m.source, m.images, m.bases = source.Source{}, nil, nil // they left with their module
		v.moved(v.known.Forget(name))
		return
	}
	v.moved(v.known.Set(name, read(m.source)))
}

func (v *view) setSource(module string, s source.Source) {
	m := v.at(module)
	s.Module = module
	if m.known {
		m.source = s
		v.setUnlooked(module, s.State == source.NeverLooked)
		m.code = v.places.codeOf(m.row.Module, s)
		v.code.Set(m.code)
		m.bases, m.images = basesIn(s), nil
		if key := v.imageOf(s); key != "" {
			m.images = append(m.images, key)
		}
		for _, name := range m.bases {
			m.images = append(m.images, environment.Key(name, v.platform))
		}
		v.touched[module] = true
		v.moved(v.known.Set(module, read(s)))
	}
}

// read is the manifest of a source that was read, or nil.
func read(s source.Source) *manifest.Source {
	if s.Commit == "" {
		return nil
	}
	return &s.Manifest
}

// moved lets what these names mean be asked again.
func (v *view) moved(names []string) {
	for _, name := range names {
		for id := range v.asks[name] {
			v.dirty[id] = true
		}
	}
}

func (v *view) setBuild(b artifact.Build) {
	m := v.at(b.Module)
	v.touched[b.Module] = true
	v.made[b.ID] = &b
	m.builds = put(m.builds, b, func(o artifact.Build) bool { return o.ID == b.ID })
	for id := range m.on { // where it lies has a part in what is sent
		if n := v.nodes[id]; n.declared[b.Module] == b.ID {
			n.worked.Store(nil)
		}
	}
}

func (v *view) setAsked(id string, a deliverystore.AskedRow, there bool) {
	same := func(o delivery.Asked) bool { return o.ID == id }
	if there {
		m := v.at(a.Module)
		m.asked = put(m.asked, a.Asked, same)
		return
	}
	for _, m := range v.modules { // a request leaves where a newer one stands for it, and with its module
		m.asked = without(m.asked, same)
	}
}

func (v *view) setWrite(id string, w deliverystore.DeclareWrite, there bool) {
	n, err := strconv.ParseInt(id, 10, 64)
	same := func(o delivery.Write) bool { return err == nil && o.ID == n }
	if there {
		m := v.at(w.Module)
		m.writes = put(m.writes, asWrite(w), same)
		return
	}
	for _, m := range v.modules {
		m.writes = without(m.writes, same)
	}
}

func (v *view) setTrouble(key string, t trouble.Trouble, there bool) {
	delete(v.troubles, key)
	if there {
		v.troubles[key] = t
	}
	node, module, is := noteOf(key)
	if n := v.nodes[node]; is && n != nil {
		delete(n.noted, module)
		if there {
			n.noted[module] = t
		}
	}
}

// setNode puts in what is known of a node but what it has reported.
func (v *view) setNode(id string, n inventory.Node, there bool) {
	was := v.nodes[id]
	if was != nil && (!there || was.Name != n.Name) {
		v.unlist(was.Node)
	}
	if !there {
		v.leave(was)
		return
	}
	if was == nil {
		was = &nodeView{declared: map[string]document.Digest{}, noted: map[string]trouble.Trouble{}}
		v.nodes[id] = was
		v.dirty[id] = true
	}
	if at, listed := v.place(n); !listed {
		v.ids = slices.Insert(v.ids, at, id)
	}
	v.byName[n.Name] = id
	if was.Name != n.Name || !slices.Equal(was.Had, n.Had) {
		was.worked.Store(nil)
	}
	n.Report, n.ReportAt, n.Trouble = was.Report, was.ReportAt, was.Trouble
	was.Node = n
	delete(v.astray, id)
	if n.Finding != "" {
		v.astray[id] = true
	}
}

// place is where a node stands in the order of names.
func (v *view) place(n inventory.Node) (int, bool) {
	return slices.BinarySearchFunc(v.ids, n, func(id string, n inventory.Node) int {
		return cmp.Or(strings.Compare(v.nodes[id].Name, n.Name), strings.Compare(id, n.ID))
	})
}

func (v *view) unlist(n inventory.Node) {
	if at, listed := v.place(n); listed {
		v.ids = slices.Delete(v.ids, at, at+1)
	}
	if v.byName[n.Name] == n.ID {
		delete(v.byName, n.Name)
	}
}

func (v *view) leave(n *nodeView) {
	if n == nil {
		return
	}
	v.unask(n)
	v.declareOn(v.buildsOn(n), nil)
	delete(v.nodes, n.ID)
	delete(v.astray, n.ID)
	delete(v.dirty, n.ID)
	delete(v.afar, n.ID)
}

func (v *view) setSaid(node string, said inventorystore.Said, there bool) {
	n := v.nodes[node]
	if n == nil {
		return
	}
	was := n.Report
	n.Report, n.ReportAt, n.Trouble = nil, said.At, said.Trouble
	if there {
		n.Report = &said.Report
	}
	if !n.saysTheSame(was) {
		n.worked.Store(nil)
	}
}

func (v *view) setApplied(node string, on map[string]inventorystore.AppliedModule) {
	n := v.nodes[node]
	if n == nil {
		return
	}
	n.applied = make(map[document.Digest]time.Time, len(on))
	for _, a := range on {
		n.applied[a.Content] = a.At
	}
}

func (v *view) setAssigned(node string, all []mesh.Assignment) {
	if n := v.nodes[node]; n != nil {
		n.assigned = all
		v.dirty[node] = true
	}
}

func (v *view) setDeclared(node string, on []deliverystore.DeclaredRow) {
	n := v.nodes[node]
	if n == nil {
		return
	}
	was := v.buildsOn(n)
	n.declared = make(map[string]document.Digest, len(on))
	for _, d := range on {
		n.declared[d.Module] = d.Build
	}
	v.dirty[node] = true
	v.declareOn(was, v.buildsOn(n))
}

// declareOn is that on a node these builds are declared where those were: what
// they provide for the whole mesh counts on every node that requires it.
func (v *view) declareOn(was, is []*artifact.Build) {
	names := v.known.Declare(was, is)
	v.moved(names)
	for _, name := range names {
		maps.Copy(v.afar, v.asks[name])
	}
}

// buildsOn is the builds that are declared on a node.
func (v *view) buildsOn(n *nodeView) []*artifact.Build {
	return slices.Collect(maps.Values(v.declaredOn(n.declared)))
}

// imageOf is the key of the image that a source asks to be built in, or empty:
// it names none, or says the very bytes.
func (v *view) imageOf(s source.Source) string {
	if s.Commit == "" || s.Manifest.Build == nil {
		return ""
	}
	name := environment.Asked(s.Manifest.Build.In)
	if name == "" {
		return ""
	}
	return environment.Key(name, v.platform)
}

func (v *view) setImage(key string, i environment.Image, there bool) {
	delete(v.images, key)
	if there {
		v.images[key] = i
	}
	for _, name := range v.builtIn(key) {
		v.touched[name] = true
	}
}

// builtIn is the modules that ask to be built in an image.
func (v *view) builtIn(key string) (modules []string) {
	for _, name := range v.names {
		if slices.Contains(v.modules[name].images, key) {
			modules = append(modules, name)
		}
	}
	return modules
}

// imagesAsked is the keys of the images that modules ask to be built in, each once.
func (v *view) imagesAsked() []string {
	asked := map[string]bool{}
	for _, name := range v.names {
		for _, key := range v.modules[name].images {
			asked[key] = true
		}
	}
	return slices.Sorted(maps.Keys(asked))
}

// wanted is the image that a source asks to be built in, and what is known of it,
// but for what another module makes.
func (v *view) wanted(s source.Source) environment.Wanted {
	if s.Commit == "" || s.Manifest.Build == nil || s.Manifest.Build.In == "" {
		return environment.Wanted{}
	}
	w := environment.Wanted{In: s.Manifest.Build.In}
	if w.Own() {
		w.Owner = v.code.Owner(build.InImages, w.In)
	}
	if key := v.imageOf(s); key != "" {
		w.Image = v.images[key]
	}
	return w
}

// settleCode finds the edges of what has moved, and forgets what was worked out of it.
func (v *view) settleCode() {
	if len(v.touched) == 0 {
		return
	}
	if v.code.Settle() {
		for _, m := range v.modules {
			m.inputs.Store(nil)
		}
	}
	if !planted.Is("inputs not worked out anew") {
		for _, name := range v.code.Above(slices.Collect(maps.Keys(v.touched))) {
			v.at(name).inputs.Store(nil)
		}
	}
	for name := range v.touched { // those without code are in no graph
		v.at(name).inputs.Store(nil)
	}
	v.touched = map[string]bool{} // to go through one that was cleared costs what it once held: at a start, everything
}

// settle works out again which modules belong on the nodes of which something has moved.
func (v *view) settle() {
	v.settleCode()
	for id := range v.dirty {
		n := v.nodes[id]
		v.unask(n)
		modules, asked := v.near(n)
		n.belong, _ = plan.Belong(modules, v.known.There(asked), slices.AppendSeq(roots(n.assigned), maps.Keys(n.declared)))
		n.asked = asked
		n.worked.Store(nil)
		for _, module := range n.belong {
			v.at(module).on[id] = true
		}
		for _, name := range asked {
			if v.asks[name] == nil {
				v.asks[name] = map[string]bool{}
			}
			v.asks[name][id] = true
		}
	}
	v.dirty = map[string]bool{}
}

// unask takes back what settle put in.
func (v *view) unask(n *nodeView) {
	for _, module := range n.belong {
		delete(v.at(module).on, n.ID)
	}
	for _, name := range n.asked {
		delete(v.asks[name], n.ID)
		if len(v.asks[name]) == 0 {
			delete(v.asks, name)
		}
	}
}

// put is the list with this in it, in the place of the one that is the same. A
// list that was handed out stays as it was.
func put[T any](list []T, one T, same func(T) bool) []T {
	at := slices.IndexFunc(list, same)
	if at < 0 {
		return append(list, one)
	}
	list = slices.Clone(list)
	list[at] = one
	return list
}

func without[T any](list []T, same func(T) bool) []T {
	if !slices.ContainsFunc(list, same) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), same)
}
