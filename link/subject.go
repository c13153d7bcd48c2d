package link

// Side is who uses a subject.
type Side string

// The sides, each an account of the broker.
const (
	Mesh     Side = "MESH"
	Nodes    Side = "NODES"
	Builders Side = "BUILDERS"
)

// Subject is one row of the table: <Verb>.<id>.
type Subject struct {
	Verb string
	From Side // who publishes; the id in the subject is the far side's, node or builder
	To   Side // who answers (a service), or who listens (a push)
	Push bool // from MESH to the far side, without an answer
}

// Subjects is the whole table: the accounts, the exports and every permission
// of the broker are made from it.
func Subjects() []Subject {
	return []Subject{
		{Verb: "hello", From: Nodes, To: Mesh},
		{Verb: "report", From: Nodes, To: Mesh},
		{Verb: "decl", From: Mesh, To: Nodes, Push: true},
		{Verb: "work", From: Builders, To: Mesh},
		{Verb: "working", From: Builders, To: Mesh},
		{Verb: "answer", From: Builders, To: Mesh},
	}
}
