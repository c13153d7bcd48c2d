package controller

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"noxmesh/api"
	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/internal/bus"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	inventorystore "noxmesh/inventory/store"
	"noxmesh/link"
	"noxmesh/report"
)

// oldHost is a node whose host does not know directories: it says hello and reports, as
// a real one does.
type oldHost struct {
	*rig
	key               link.Key
	version           string
	counter, sequence int64
	accepted          declaration.Tuple
	has               declaration.Body
	refused           *link.Refusal
}

func (h *oldHost) joins() {
	h.t.Helper()
	var err error
	h.key, err = link.NewKey()
	h.must(err)
	h.node()
	h.tx(func(tx *db.Tx) error {
		return inventorystore.JoinNode(tx, inventorystore.Joining{ID: testNode, Sign: h.key.Public(), Nats: "U1", Seal: "age1", Host: h.version, Speaks: []int{1}, At: clock.Now()})
	})
}

// hellos says hello and takes in what it is told, as far as it knows it; whether it was told anything.
func (h *oldHost) hellos(knows bool) bool {
	h.t.Helper()
	h.counter++
	hello := link.Hello{
		Format: link.Format, Mesh: h.mesh, Node: testNode, Boot: "b", Counter: h.counter, At: clock.Now().UnixMilli(), Host: h.version, Speaks: []int{1},
		Accepted: h.accepted, Refused: h.refused,
	}
	e, err := link.Seal(h.key, link.TypeHello, hello)
	h.must(err)
	data, err := document.Canonical(e)
	h.must(err)
	sealed, err := h.hello(h.t.Context(), bus.Message{From: testNode, Data: data})
	h.must(err)
	e, err = link.DecodeEnvelope(sealed)
	h.must(err)
	payload, err := e.Open(link.TypeHelloAnswer, h.rig.key.Public())
	h.must(err)
	answer, err := link.DecodeHelloAnswer(payload)
	h.must(err)
	if answer.Declaration == nil {
		return false
	}
	text := answer.Declaration.Payload
	of, err := declaration.TupleOf(text)
	h.must(err)
	if !knows {
		text = bytes.ReplaceAll(text, []byte(`"type":"directory"`), []byte(`"type":"portal"`))
	}
	if d, err := declaration.Decode(text); err != nil {
		h.refused = &link.Refusal{Epoch: of.Epoch, Generation: of.Generation, Digest: of.Digest, Why: declaration.WhyUnknown(err)}
	} else {
		h.accepted, h.has, h.refused = of, d.Body, nil
	}
	return true
}

// reports says how what it has accepted stands, and what its host keeps.
func (h *oldHost) reports(keeps ...string) {
	h.t.Helper()
	h.sequence++
	said := report.Report{
		Node: testNode, Host: h.version, Sequence: h.sequence, Outcome: report.OutcomeApplied, Modules: slices.Concat([]declaration.Module{}, h.has.Modules), Accepted: h.accepted, Applied: h.accepted,
		Facts: &report.Facts{OS: "linux", Arch: "amd64", Capabilities: keeps},
	}
	for _, r := range h.has.Resources {
		digest, err := r.ContentDigest()
		h.must(err)
		said.Resources = append(said.Resources, report.Resource{ID: r.ID, Digest: digest, State: report.StateOK})
	}
	h.tx(func(tx *db.Tx) error {
		_, err := inventorystore.SaveReport(tx, said, []byte("envelope"), clock.Now())
		return err
	})
}

// shown is the node as mesh node show and mesh node list have it, and mesh status.
func (h *oldHost) shown() api.NodeOut {
	h.t.Helper()
	one, err := h.answerNode(h.t.Context(), api.Who{}, api.NodeIn{Node: "node1"})
	h.must(err)
	all, err := h.answerNodes(h.t.Context(), api.Who{}, api.Nothing{})
	h.must(err)
	for where, n := range map[string]api.NodeOut{"node list": all.Nodes[0], "status": {Node: h.status().Nodes[0]}} {
		if n.State != one.State || n.Refused != one.Refused || n.NeedsHost != one.NeedsHost || len(n.Reasons) != len(one.Reasons) {
			h.t.Errorf("%s says %+v, and node show %+v", where, n.Node, one.NodeOut.Node)
		}
	}
	return one.NodeOut
}

// An older host refuses as a whole what it does not know. It is not sent that again and
// again; people are told which node it is, what it runs and what it needs; and the host
// that it needs takes it.
func TestAnOlderHostThatRefusesIsNamedWithTheVersionThatItNeeds(t *testing.T) {
	t.Parallel()
	h := &oldHost{rig: newRig(t), version: "1.3.0"}
	h.cfg.Version = "v1.4.0"
	h.joins()
	h.sourced("site", `"resources": [{"id": "d", "type": "directory", "path": "/srv/site"}]`)
	h.assign("site")
	h.hellos(false)
	h.reports()
	h.declared("site")
	_, err := h.declareStep(t.Context(), testNode)
	h.must(err)
	if !h.hellos(false) || h.refused == nil {
		t.Fatal("it was told nothing that it does not know")
	}
	h.hellos(false) // and says so
	const why = `it says what this version of the host does not take: body.resources[0].type: "portal" is not a type that this host knows`
	n := h.shown()
	if n.State != "refused" || n.Host != "1.3.0" || n.NeedsHost != "1.4.0" || n.Refused != why+"; node1 runs mesh-host 1.3.0: upgrade it to 1.4.0, or later" || !n.Bad() {
		t.Errorf("%s, host %s, needs %s: %s", n.State, n.Host, n.NeedsHost, n.Refused)
	}
	pushed := []api.Pushed{{Node: testNode}}
	_, err = h.received(t.Context(), pushed)
	h.must(err)
	if !strings.HasSuffix(pushed[0].Why, "upgrade it to 1.4.0, or later") {
		t.Errorf("mesh push says %s", pushed[0].Why)
	}
	for range 3 {
		if h.hellos(false) {
			t.Error("it is sent again what it has refused")
		}
	}
	if m, _ := h.outbox.of(testNode); m.envelope == nil {
		t.Error("nothing is kept for it")
	}
	h.version, h.refused = "1.4.0", nil // upgraded, and started again
	if !h.hellos(true) || h.accepted.Generation == 0 {
		t.Fatal("the new one is told nothing")
	}
	h.hellos(true)
	h.reports()
	if n := h.shown(); n.State != "applied" || n.NeedsHost != "" || n.Refused != "" || n.Host != "1.4.0" {
		t.Errorf("%s, host %s, needs %s: %s", n.State, n.Host, n.NeedsHost, n.Refused)
	}
}

// What a node's host does not keep it is not told; and who asks why is told which
// version of it the node needs, until it has that.
func TestANodeIsNamedWithTheVersionOfTheHostThatItNeeds(t *testing.T) {
	t.Parallel()
	h := &oldHost{rig: newRig(t), version: "1.3.0"}
	h.cfg.Version = "v1.4.0"
	h.joins()
	h.sourced("raid", `"resources": [{"id": "c", "type": "check", "command": "raid"}]`)
	h.assign("raid")
	h.hellos(false)
	h.reports("keeps-check")
	h.declared("raid")
	const why = "has a check that runs a command, which the host of node1 (mesh-host 1.3.0) does not keep: upgrade it to 1.4.0, or later; one that keeps a folder and no machine never does"
	asked := func() string {
		t.Helper()
		out, err := h.answerWhy(t.Context(), api.Who{}, api.WhyIn{What: "node1", Module: "raid"})
		h.must(err)
		return out.Node.Stands
	}
	if got := asked(); got != why {
		t.Errorf("mesh why says %s", got)
	}
	if n := h.shown(); n.NeedsHost != "1.4.0" || len(n.Reasons) != 1 || n.Reasons[0].Why != why {
		t.Errorf("needs %s: %+v", n.NeedsHost, n.Reasons)
	}
	if p := h.planned(); !strings.Contains(p, why) {
		t.Errorf("mesh plan says %s", p)
	}
	h.version = "1.3.5" // still an older one, and it is named
	h.reports("keeps-check")
	if got, want := asked(), strings.Replace(why, "1.3.0", "1.3.5", 1); got != want {
		t.Errorf("mesh why says %s", got)
	}
	h.version = "1.4.0"
	h.reports("keeps-check", declaration.KeepsCheckCommand)
	if n := h.shown(); n.NeedsHost != "" || len(n.Reasons) > 0 || asked() != "" {
		t.Errorf("needs %s: %+v, %s", n.NeedsHost, n.Reasons, asked())
	}
	_, err := h.declareStep(t.Context(), testNode)
	h.must(err)
	if !h.hellos(true) || h.accepted == (declaration.Tuple{}) {
		t.Error("it is told nothing")
	}
}

// A build that a node's host is too old for holds up nothing else there: what the node
// has of the module stays, and the version of the host that keeps it comes through.
func TestAModuleThatCameBeforeItsHostDoesNotHoldTheHostUp(t *testing.T) {
	t.Parallel()
	h := &oldHost{rig: newRig(t), version: "1.3.0"}
	h.cfg.Version = "v1.4.0"
	h.joins()
	keeps := []string{"apt", "keeps-check", "keeps-package"}
	site := func(more string) {
		t.Helper()
		h.sourced("site", `"resources": [{"id": "d", "type": "directory", "path": "/srv/site"}`+more+`]`)
		h.declared("site")
	}
	hosts := func(version string) {
		t.Helper()
		h.sourced("hosts", `"resources": [{"id": "host", "type": "package", "name": "nox-mesh-host", "version": "`+version+`"}]`)
		h.declared("hosts")
	}
	turn := func(keeps ...string) {
		t.Helper()
		_, err := h.declareStep(t.Context(), testNode)
		h.must(err)
		h.hellos(true)
		h.hellos(true)
		h.reports(keeps...)
	}
	has := func() (ids string) {
		for _, r := range h.has.Resources {
			ids += " " + r.ID + r.Said().Version
		}
		return strings.TrimSpace(ids)
	}
	h.hellos(true)
	h.reports(keeps...)
	h.sourced("site", `"resources": [{"id": "d", "type": "directory", "path": "/srv/site"}]`)
	h.sourced("hosts", "")
	h.assign("site")
	h.assign("hosts")
	site("")
	hosts("1.3.0")
	turn(keeps...)
	if got := has(); got != "hosts/host1.3.0 site/d" {
		t.Fatalf("it has %s: %s", got, h.planned())
	}

	site(`, {"id": "c", "type": "check", "command": "raid"}`)
	n, of := h.shown(), h.accepted
	if n.NeedsHost != "1.4.0" || len(n.Reasons) != 1 || !strings.HasSuffix(n.Reasons[0].Why, "; what the node has of it stays until then") || n.State != "applied" {
		t.Errorf("%s, needs %s: %+v", n.State, n.NeedsHost, n.Reasons)
	}
	if turn(keeps...); h.accepted != of {
		t.Errorf("it was told something else: %s", has())
	}
	hosts("1.4.0")
	if turn(keeps...); has() != "hosts/host1.4.0 site/d" {
		t.Errorf("its host is held up: %s, %s", has(), h.planned())
	}
	h.version = "1.4.0"
	h.reports(append(keeps, declaration.KeepsCheckCommand)...)
	if turn(append(keeps, declaration.KeepsCheckCommand)...); has() != "hosts/host1.4.0 site/d site/c" {
		t.Errorf("it has %s: %s", has(), h.planned())
	}
	if n := h.shown(); n.NeedsHost != "" || n.NotWorkedOut > 0 || n.State != "applied" {
		t.Errorf("%s, needs %s: %+v", n.State, n.NeedsHost, n.Reasons)
	}
}
