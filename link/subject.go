package link

import (
	"slices"
	"strings"

	mesh "noxmesh"
	"noxmesh/document"
	"noxmesh/internal/fault"
)

// Side is who uses a subject.
type Side string

// The sides, each an account of the broker.
const (
	Mesh     Side = "MESH"
	Nodes    Side = "NODES"
	Builders Side = "BUILDERS"
)

// Verb is the first word of a subject: what the message is for.
type Verb string

// The verbs.
const (
	VerbHello   Verb = "hello"
	VerbReport  Verb = "report"
	VerbDecl    Verb = "decl"
	VerbWork    Verb = "work"
	VerbWorking Verb = "working"
	VerbAnswer  Verb = "answer"
)

// Row is one row of the table: the subjects <Verb>.<id>.
type Row struct {
	Verb Verb
	From Side // who publishes; the id in the subject is the far side's, node or builder
	To   Side // who answers (a service), or who listens (a push)
	Push bool // from MESH to the far side, without an answer
}

// Far is the side whose id stands in the subject: it is never MESH.
func (r Row) Far() Side {
	if r.From == Mesh {
		return r.To
	}
	return r.From
}

// Subjects is the whole table: the accounts, the exports and every permission
// of the broker are made from it.
func Subjects() []Row {
	return []Row{
		{Verb: VerbHello, From: Nodes, To: Mesh},
		{Verb: VerbReport, From: Nodes, To: Mesh},
		{Verb: VerbDecl, From: Mesh, To: Nodes, Push: true},
		{Verb: VerbWork, From: Builders, To: Mesh},
		{Verb: VerbWorking, From: Builders, To: Mesh},
		{Verb: VerbAnswer, From: Builders, To: Mesh},
	}
}

// Anyone is the id in a permission that the broker replaces by the name of
// whoever logs in. Only the mesh gives out names, and only valid ids.
const Anyone = "{{name()}}"

// Subject is the subject of this verb for this node or builder.
func Subject(verb Verb, id string) (string, error) {
	if !known(verb) {
		return "", fault.New(fault.Broken, "no subject is called %q", string(verb))
	}
	if !mesh.ValidID(id) {
		return "", fault.New(fault.Invalid, "%q cannot stand in a subject: want an id of 8 to 32 lower-case letters and digits", document.Short(id))
	}
	return string(verb) + "." + id, nil
}

// Every is the pattern that matches this verb for all nodes or builders. Only
// the mesh may use it.
func Every(verb Verb) (string, error) {
	if !known(verb) {
		return "", fault.New(fault.Broken, "no subject is called %q", string(verb))
	}
	return string(verb) + ".*", nil
}

// From is the verb and the id that a subject proves: the broker lets nobody
// publish on a subject that carries another's id. It proves nothing about what
// the message says.
func From(subject string) (Verb, string, error) {
	verb, id, ok := strings.Cut(subject, ".")
	if !ok || !known(Verb(verb)) || !mesh.ValidID(id) {
		return "", "", fault.New(fault.Denied, "%q is not a subject of the mesh", document.Short(subject))
	}
	return Verb(verb), id, nil
}

// Agree refuses a message that arrived on a subject for another verb, or on
// another's subject than the id that is signed inside it.
func Agree(subject string, want Verb, signed string) error {
	verb, id, err := From(subject)
	switch {
	case err != nil:
		return err
	case verb != want:
		return fault.New(fault.Denied, "a message for %q came on %q", string(want), document.Short(subject))
	case id != signed:
		return fault.New(fault.Denied, "a message signed for %q came on %q", signed, document.Short(subject))
	}
	return nil
}

// Inbox is the prefix of the subjects on which this node or builder gets its
// answers.
func Inbox(id string) string { return "_INBOX." + id }

// Permissions is what one user of a side may publish and subscribe to, and
// nothing else. The id is a valid one or Anyone; any other has no permission at
// all. Of the mesh there is one user, and the id has no part in its permissions.
func Permissions(side Side, id string) (publish, subscribe []string) {
	if side == Mesh {
		id = "*"
	} else if id != Anyone && !mesh.ValidID(id) {
		return nil, nil
	}
	for _, r := range Subjects() {
		subject := string(r.Verb) + "." + id
		if r.From == side {
			publish = append(publish, subject)
		}
		if r.To == side {
			subscribe = append(subscribe, subject)
		}
	}
	if side != Mesh && publish != nil {
		subscribe = append(subscribe, Inbox(id)+".>")
	}
	return publish, subscribe
}

func known(verb Verb) bool {
	return slices.ContainsFunc(Subjects(), func(r Row) bool { return r.Verb == verb })
}
