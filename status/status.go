package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"noxmesh/document"
	"noxmesh/inventory"
	"noxmesh/plan"
	"noxmesh/trouble"
)

// Status is the whole mesh at one moment.
type Status struct {
	At         time.Time `json:"at"`                   // when it was answered: nothing in it is from later
	Controller string    `json:"controller"`           // its version
	Recovering string    `json:"recovering,omitempty"` // why nothing is declared at all
	Unwell     *Unwell   `json:"unwell,omitempty"`
	Registry   *Unwell   `json:"registry,omitempty"` // why it cannot keep what builders publish
	Modules    []Module  `json:"modules"`
	Nodes      []Node    `json:"nodes"`
}

// Unwell is why the controller cannot keep anything of what it is to keep. When
// that is the record, what status says is as old as that.
type Unwell struct {
	Why   string    `json:"why"`
	Since time.Time `json:"since"`
}

// Module is one module's way from source to the machines.
type Module struct {
	Module      string       `json:"module"`
	Policy      string       `json:"policy"`
	Source      Source       `json:"source"`
	Built       *Built       `json:"built,omitempty"` // the build that the line is about
	Environment *Environment `json:"environment,omitempty"`
	Declared    int          `json:"declared"` // nodes on which that content is declared
	Applied     int          `json:"applied"`
	Outstanding int          `json:"outstanding"`
	Failed      int          `json:"failed"`
	Older       []Older      `json:"older,omitempty"` // builds that other nodes are declared to have
	Lost        []Lost       `json:"lost,omitempty"`  // builds that are declared, or kept to go back to, and that the registry does not have
	Assigned    int          `json:"assigned"`        // nodes that it belongs on
	Nodes       []On         `json:"nodes"`
	Building    *Building    `json:"building,omitempty"`
	Waiting     []Waiting    `json:"waiting,omitempty"`
	Trouble     []Trouble    `json:"trouble,omitempty"`
	Finding     string       `json:"finding,omitempty"`
}

// Source is what source exists.
type Source struct {
	Ref      string    `json:"ref,omitempty"`
	Commit   string    `json:"commit,omitempty"`
	State    string    `json:"state"`
	Why      string    `json:"why,omitempty"`
	Since    time.Time `json:"since,omitzero"`
	LookedAt time.Time `json:"looked_at,omitzero"`
	Notices  []Notice  `json:"notices,omitempty"`
}

// Notice is one thing that is odd about where a source stands, and keeps nothing
// from being delivered.
type Notice struct {
	Kind  string    `json:"kind"`
	Says  string    `json:"says"`
	Since time.Time `json:"since"`
}

// Built is a build.
type Built struct {
	Build    string    `json:"build"`
	Content  string    `json:"content"`
	Commit   string    `json:"commit"`
	Current  bool      `json:"current"`   // nothing that it was made of has moved
	SameTree bool      `json:"same_tree"` // the source's commit is another, and its tree is the same
	Verdict  string    `json:"verdict"`
	At       time.Time `json:"at"`
}

// Older is a build that some nodes are still declared to have.
type Older struct {
	Commit string `json:"commit"`
	Build  string `json:"build"`
	Nodes  int    `json:"nodes"`
}

// Lost is a build that cannot be had from the registry.
type Lost struct {
	Build  string    `json:"build"`
	Commit string    `json:"commit"`
	Nodes  int       `json:"nodes"` // on which it is declared; zero: it is only kept to go back to
	Since  time.Time `json:"since,omitzero"`
	Mends  bool      `json:"mends"` // it is built again, and nobody has to do anything
	Says   string    `json:"says"`  // what becomes of it, and what to do
}

// Words is the lost build in a sentence.
func (l Lost) Words() string {
	where := "kept to go back to"
	if l.Nodes > 0 {
		where = fmt.Sprintf("declared on %d", l.Nodes)
	}
	return fmt.Sprintf("build %s of %s, %s, is gone from the registry: %s", document.Digest(l.Build).Short(), ShortCommit(l.Commit), where, l.Says)
}

// On is one module on one node.
type On struct {
	Node     string             `json:"node"`
	Name     string             `json:"name"`
	Commit   string             `json:"commit,omitempty"` // of what is declared there; empty where nothing is
	Build    string             `json:"build,omitempty"`  // the same; where that is as the line's build on a machine, the line's
	Standing inventory.Standing `json:"standing,omitempty"`
	At       time.Time          `json:"at,omitzero"`         // when it was first reported as applied
	LastSeen time.Time          `json:"last_seen,omitzero"`  // of the node
	Why      string             `json:"why,omitempty"`       // failed: which resource, and what it said
	Finding  string             `json:"finding,omitempty"`   // the node is quarantined: why nothing more is declared to it
	HeldBack string             `json:"held_back,omitempty"` // nothing new is sent to the node until a person allows it
}

// Node is one node's standing.
type Node struct {
	Node         string           `json:"node"`
	Name         string           `json:"name"`
	State        string           `json:"state"` // see NodeState
	Behind       inventory.Behind `json:"behind,omitempty"`
	Host         string           `json:"host,omitempty"`
	LastSeen     time.Time        `json:"last_seen,omitzero"`
	SentAt       time.Time        `json:"sent_at,omitzero"`
	ReportAt     time.Time        `json:"report_at,omitzero"`
	Outcome      string           `json:"outcome,omitempty"` // of the last report
	Drift        int              `json:"drift,omitempty"`   // resources that the last report found changed by something else, and put back
	Refused      string           `json:"refused,omitempty"`
	NeedsHost    string           `json:"needs_host,omitempty"` // the version of mesh-host that takes what its own does not
	Finding      string           `json:"finding,omitempty"`
	Trouble      *Trouble         `json:"trouble,omitempty"`
	Deaf         *Trouble         `json:"deaf,omitempty"` // its hellos come, and what they are answered changes nothing
	Failing      []Failing        `json:"failing,omitempty"`
	Contested    []Contested      `json:"contested,omitempty"`
	Removal      *Removal         `json:"removal,omitempty"`        // what it should be is held back from it
	NotWorkedOut int              `json:"not_worked_out,omitempty"` // how many reasons mesh plan shows
	Reasons      []plan.Reason    `json:"reasons,omitempty"`        // those of them that stand against a module, and do not just wait for somebody to declare it
	Ignored      *Ignored         `json:"ignored,omitempty"`
	Unwell       string           `json:"unwell,omitempty"`      // why it cannot keep what it is told
	ClockAhead   int64            `json:"clock_ahead,omitempty"` // seconds by which its clock differs from the controller's; zero where that is no more than a minute
	Modules      []string         `json:"modules"`
}

// Ignored is how much of what a node said was ignored since the controller began.
type Ignored struct {
	Since    time.Time `json:"since"`
	Excess   int64     `json:"excess,omitempty"`   // more than any honest host says
	Replayed int64     `json:"replayed,omitempty"` // not newer than what had come
	Late     int64     `json:"late,omitempty"`     // refusals of a declaration that it had gone beyond
}

// Failing is one resource that the last report says is not as declared.
type Failing struct {
	Resource string `json:"resource"`
	State    string `json:"state"`
	Error    string `json:"error,omitempty"`
}

// Removal is that what a node should be is held back from it, for it would remove more
// than half of what the node holds, until a person allows just that.
type Removal struct {
	Gone    int    `json:"gone"`   // resources that would be removed
	Of      int    `json:"of"`     // resources that the node holds
	Digest  string `json:"digest"` // of what it should be
	Command string `json:"command"`
}

// Words is the removal in a sentence.
func (r Removal) Words() string {
	return fmt.Sprintf("held back: it would remove %d of the %d resources that the node holds; %s allows it once", r.Gone, r.Of, r.Command)
}

// Contested is one resource that something else on the node writes too: it is put
// back again and again, ever more seldom, until it stays right.
type Contested struct {
	Resource string    `json:"resource"`
	Since    time.Time `json:"since"` // when it was put back first; by the node's clock
	Count    int64     `json:"count"` // how often since
}

// Words is the contest in a sentence.
func (c Contested) Words() string {
	return fmt.Sprintf("something else on the node writes it too: put back %d times since %s", c.Count, c.Since.UTC().Format(time.RFC3339))
}

// Trouble is one failure of one thing that keeps trying.
type Trouble struct {
	Says  string    `json:"says"`
	Since time.Time `json:"since"`
	Count int64     `json:"count"`
	Stuck bool      `json:"stuck"`
}

// Waiting is something outside that has to happen first.
type Waiting struct {
	For   string    `json:"for"`
	Since time.Time `json:"since,omitzero"`
}

// Plan is what one node should be, for people.
type Plan struct {
	Node      string           `json:"node"`
	Name      string           `json:"name"`
	Behind    inventory.Behind `json:"behind,omitempty"`
	Digest    string           `json:"digest"`
	Modules   []PlanModule     `json:"modules"`
	Resources []PlanResource   `json:"resources"`
	LeftOut   []plan.Reason    `json:"left_out"`          // new to the node and not worked out
	Held      []plan.Reason    `json:"held"`              // nothing is sent to the node while these stand
	Removal   *Removal         `json:"removal,omitempty"` // nor while a person has not allowed this
}

// PlanModule is a module in a plan.
type PlanModule struct {
	Module  string `json:"module"`
	Content string `json:"content"`
	Commit  string `json:"commit"`
}

// PlanResource is a resource in a plan.
type PlanResource struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Path string `json:"path"` // of what is no file, its name
}

// TroubleOf is t as status shows it, or nil where there is none.
func TroubleOf(t trouble.Trouble) *Trouble {
	if t.Count == 0 {
		return nil
	}
	return &Trouble{Says: t.Says, Since: t.Since, Count: t.Count, Stuck: t.Stuck()}
}

// ShortCommit is a commit as people write it.
func ShortCommit(commit string) string {
	if len(commit) > 7 {
		return commit[:7]
	}
	return commit
}

// Line is the module's one line: "source X · built from X · fit · declared on 5 · applied on 3, 2 outstanding".
func (m Module) Line() string {
	parts := []string{"source " + m.sourceWord()}
	if m.Built == nil {
		return strings.Join(append(parts, "not built"), " · ")
	}
	parts = append(parts, "built from "+m.From(m.Built.Commit, m.Built.Build), m.Built.Verdict)
	if m.Declared == 0 {
		parts = append(parts, "not declared")
	} else {
		parts = append(parts, fmt.Sprintf("declared on %d", m.Declared), m.appliedWord())
	}
	for _, o := range m.Older {
		parts = append(parts, fmt.Sprintf("%s still declared on %d", m.From(o.Commit, o.Build), o.Nodes))
	}
	return strings.Join(parts, " · ")
}

// From is the commit of a build that the line is about or that a node is declared
// to have, and which build it is where there are several of that commit: what it
// was built against, or in, has moved between them.
func (m Module) From(commit, build string) string {
	other := func(c, b string) bool { return c == commit && b != build }
	several := m.Built != nil && other(m.Built.Commit, m.Built.Build) ||
		slices.ContainsFunc(m.Older, func(o Older) bool { return other(o.Commit, o.Build) })
	if !several || build == "" { // a controller of an older version does not say which
		return ShortCommit(commit)
	}
	return ShortCommit(commit) + " (build " + document.Digest(build).Short() + ")"
}

func (m Module) sourceWord() string {
	switch {
	case m.Source.Commit == "":
		return m.Source.State
	case m.Built != nil && m.Built.SameTree:
		return ShortCommit(m.Source.Commit) + " (= " + ShortCommit(m.Built.Commit) + ")"
	}
	return ShortCommit(m.Source.Commit)
}

func (m Module) appliedWord() string {
	s := fmt.Sprintf("applied on %d", m.Applied)
	if m.Outstanding > 0 {
		s += fmt.Sprintf(", %d outstanding", m.Outstanding)
	}
	if m.Failed > 0 {
		s += fmt.Sprintf(", %d failed", m.Failed)
	}
	return s
}

// Out reports whether the module's newest source is applied everywhere that it
// belongs: the one exact answer to "did my change go out?".
func (m Module) Out() bool {
	return m.Source.State == "read" && m.Built != nil && m.Built.Current && m.Assigned > 0 && m.Applied == m.Assigned
}

// Bad reports whether something is unfit, failed or stuck, or what is declared is
// nowhere to be had: a command that shows the module then ends with 3.
func (m Module) Bad() bool {
	if m.Failed > 0 || (m.Built != nil && m.Built.Verdict == "unfit") {
		return true
	}
	return slices.ContainsFunc(m.Lost, func(l Lost) bool { return l.Nodes > 0 && !l.Mends }) ||
		slices.ContainsFunc(m.Trouble, func(t Trouble) bool { return t.Stuck })
}
