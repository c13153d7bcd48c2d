package controller

import (
	"errors"
	"maps"

	"golang.org/x/sync/errgroup"

	"noxmesh/delivery"
	"noxmesh/delivery/artifact"
	"noxmesh/delivery/graph"
	"noxmesh/delivery/imports"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/document"
	identitystore "noxmesh/identity/store"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	inventorystore "noxmesh/inventory/store"
	troublestore "noxmesh/trouble/store"
)

// load reads the whole record into an empty view.
func (v *view) load(tx *db.Tx) error {
	if err := v.loadDelivery(tx); err != nil {
		return err
	}
	if err := v.loadInventory(tx); err != nil {
		return err
	}
	images, err := deliverystore.Images(tx)
	if err != nil {
		return err
	}
	maps.Copy(v.images, images)
	troubles, err := troublestore.All(tx)
	for _, t := range troubles {
		v.setTrouble(t.Key, t, true)
	}
	if err != nil {
		return err
	}
	builders, err := readBuilders(tx)
	if err == nil {
		builders(v)
	}
	return err
}

func (v *view) loadDelivery(tx *db.Tx) error {
	modules, err := deliverystore.Modules(tx)
	if err != nil {
		return err
	}
	says := make(map[string]imports.Said, len(modules))
	v.code.Expect(len(modules))
	if err := v.hearCodes(tx, func(c deliverystore.Coded) { says[c.Module] = c.Says }); err != nil {
		return err
	}
	sources, err := deliverystore.Sources(tx)
	if err != nil {
		return err
	}
	builds, err := deliverystore.AllBuilds(tx)
	if err != nil {
		return err
	}
	asked, err := deliverystore.AllAsked(tx)
	if err != nil {
		return err
	}
	writes, err := deliverystore.AllDeclareWrites(tx)
	if err != nil {
		return err
	}
	for _, m := range modules {
		v.setModule(m.Name, m, true)
		s := sources[m.Name]
		s.Code.Says = says[m.Name]
		v.setSource(m.Name, s)
	}
	for i := range builds {
		b := &builds[i]
		is := v.at(b.Module)
		v.made[b.ID] = b
		is.builds = append(is.builds, *b)
	}
	for _, a := range asked {
		is := v.at(a.Module)
		is.asked = append(is.asked, a.Asked)
	}
	for _, w := range writes {
		is := v.at(w.Module)
		is.writes = append(is.writes, asWrite(w))
	}
	return nil
}

// hearCodes puts what the code of each module says into the graph: on one core it
// is read from the record and understood, on another names get their numbers.
func (v *view) hearCodes(tx *db.Tx, also func(deliverystore.Coded)) error {
	const ahead = 2
	heard, rooms := make(chan *graph.Heard, ahead), make(chan *graph.Heard, ahead+2)
	for range cap(rooms) {
		rooms <- new(graph.Heard)
	}
	var taken errgroup.Group
	taken.Go(func() error {
		for h := range heard {
			v.code.Take(h)
			rooms <- h
		}
		return nil
	})
	err := deliverystore.Codes(tx, func(some []deliverystore.Coded) {
		h := <-rooms
		for _, c := range some {
			also(c)
			v.code.Listen(h, graph.Code{Module: c.Module, Repository: v.places.of(c.Repository), Folder: c.Folder, Says: c.Says})
		}
		heard <- h
	})
	close(heard)
	return errors.Join(err, taken.Wait())
}

func (v *view) loadInventory(tx *db.Tx) error {
	nodes, err := inventorystore.Nodes(tx)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		v.setNode(n.ID, n, true)
		is := v.nodes[n.ID]
		is.Report, is.ReportAt, is.Trouble = n.Report, n.ReportAt, n.Trouble
	}
	assignments, err := inventorystore.Assignments(tx)
	if err != nil {
		return err
	}
	for _, a := range assignments {
		if n := v.nodes[a.Node]; n != nil {
			n.assigned = append(n.assigned, a)
		}
	}
	declared, err := deliverystore.Declared(tx)
	if err != nil {
		return err
	}
	for _, d := range declared {
		if n := v.nodes[d.Node]; n != nil {
			n.declared[d.Module] = d.Build
		}
	}
	for _, n := range v.nodes {
		v.known.Declare(nil, v.buildsOn(n))
	}
	if err := v.loadSecrets(tx); err != nil {
		return err
	}
	applied, err := inventorystore.AllApplied(tx)
	for node, on := range applied {
		v.setApplied(node, on)
	}
	return err
}

func (v *view) loadSecrets(tx *db.Tx) error {
	secrets, err := inventorystore.Secrets(tx)
	for _, s := range secrets {
		if n := v.nodes[s.Node]; n != nil {
			n.secrets = append(n.secrets, s)
		}
	}
	return err
}

// readChanged reads what these changes are about, each once, and returns what
// they do to a view.
func readChanged(tx *db.Tx, changes []db.Change) ([]func(*view), error) {
	done := map[db.Change]bool{}
	var apply []func(*view)
	for _, change := range changes {
		if done[change] {
			continue
		}
		done[change] = true
		one, err := readOne(tx, change)
		if err != nil {
			return nil, err
		}
		apply = append(apply, one)
	}
	return apply, nil
}

func readOne(tx *db.Tx, c db.Change) (func(*view), error) {
	switch c.Table {
	case "module":
		m, known, err := deliverystore.OneModule(tx, c.Key)
		if err != nil {
			return nil, err
		}
		s, err := deliverystore.Source(tx, c.Key)
		return func(v *view) {
			v.setModule(c.Key, m, known)
			v.setSource(c.Key, s)
		}, err
	case "source":
		s, err := deliverystore.Source(tx, c.Key)
		return func(v *view) { v.setSource(c.Key, s) }, err
	case "build":
		b, err := deliverystore.Build(tx, document.Digest(c.Key))
		if fault.KindOf(err) == fault.NotFound {
			return func(v *view) { v.dropBuild(document.Digest(c.Key)) }, nil
		}
		return func(v *view) { v.setBuild(b) }, err
	case "request":
		a, there, err := deliverystore.AskedOne(tx, c.Key)
		return func(v *view) { v.setAsked(c.Key, a, there) }, err
	case "declare_write":
		w, there, err := deliverystore.OneDeclareWrite(tx, c.Key)
		return func(v *view) { v.setWrite(c.Key, w, there) }, err
	case "image":
		i, there, err := deliverystore.Image(tx, c.Key)
		return func(v *view) { v.setImage(c.Key, i, there) }, err
	case "builder":
		return readBuilders(tx)
	case "trouble":
		t, there, err := troublestore.One(tx, c.Key)
		return func(v *view) { v.setTrouble(c.Key, t, there) }, err
	}
	return readOneOfNode(tx, c)
}

func readOneOfNode(tx *db.Tx, c db.Change) (func(*view), error) {
	switch c.Table {
	case "node":
		n, there, err := inventorystore.Unread(tx, c.Key)
		return func(v *view) { v.setNode(c.Key, n, there) }, err
	case "node_report":
		said, there, err := inventorystore.SaidBy(tx, c.Key)
		if err != nil {
			return nil, err
		}
		on, err := inventorystore.Applied(tx, c.Key)
		return func(v *view) {
			v.setSaid(c.Key, said, there)
			v.setApplied(c.Key, on)
		}, err
	case "assignment":
		all, err := inventorystore.AssignmentsOf(tx, c.Key)
		return func(v *view) { v.setAssigned(c.Key, all) }, err
	case "secret":
		all, err := inventorystore.SecretsOf(tx, c.Key)
		return func(v *view) { v.setSecrets(c.Key, all) }, err
	case "declared":
		on, err := deliverystore.DeclaredOn(tx, c.Key)
		return func(v *view) { v.setDeclared(c.Key, on) }, err
	}
	return nil, fault.New(fault.Broken, "read what has changed in %q: nobody knows how", c.Table)
}

func readBuilders(tx *db.Tx) (func(*view), error) {
	all, err := identitystore.Builders(tx)
	if err != nil {
		return nil, err
	}
	names, err := identitystore.BuilderNames(tx)
	return func(v *view) { v.builders, v.called = all, names }, err
}

func asWrite(w deliverystore.DeclareWrite) delivery.Write {
	return delivery.Write{ID: w.ID, Build: w.Build, Nodes: w.Nodes, By: w.By, Policy: w.By == byPolicy, At: w.At}
}

// dropBuild forgets a build that retention has removed: nothing names it.
func (v *view) dropBuild(id document.Digest) {
	b := v.made[id]
	if b == nil {
		return
	}
	m := v.at(b.Module)
	v.touched[b.Module] = true
	delete(v.made, id)
	m.builds = without(m.builds, func(o artifact.Build) bool { return o.ID == id })
}
