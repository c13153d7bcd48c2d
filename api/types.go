package api

import (
	"time"

	"noxmesh/identity"
	"noxmesh/inventory"
	"noxmesh/plan"
	"noxmesh/report"
	"noxmesh/status"
)

// VersionOut is which program answers.
type VersionOut struct {
	Version string `json:"version"`
	Mesh    string `json:"mesh"`
}

// StatusIn narrows the status to one module or node, by name.
type StatusIn struct {
	Module string `json:"-" query:"module"`
	Node   string `json:"-" query:"node"`
}

// StatusOut is the status.
type StatusOut = status.Status

// PlansIn narrows the plans to one node, by name or id.
type PlansIn struct {
	Node string `json:"-" query:"node"`
}

// PlansOut is what nodes should be.
type PlansOut struct {
	Plans []status.Plan `json:"plans"`
}

// PushIn says which nodes to push to: those named, those behind, or all.
type PushIn struct {
	Nodes  []string `json:"nodes,omitempty"`
	Behind bool     `json:"behind,omitempty"`
	Wait   int64    `json:"wait,omitempty"` // milliseconds to wait for receipts, at most 30,000
}

// PushOut is how each node stands after the wait.
type PushOut struct {
	Nodes []Pushed `json:"nodes"`
}

// Pushed is one node's receipt, or why there is none yet.
type Pushed struct {
	Node     string           `json:"node"`
	Name     string           `json:"name"`
	Behind   inventory.Behind `json:"behind,omitempty"` // as status said it before the push
	Accepted bool             `json:"accepted"`         // it has accepted what is wanted
	Why      string           `json:"why,omitempty"`    // not accepted: what stands against it
	LastSeen time.Time        `json:"last_seen,omitzero"`
}

// ModuleIn names a module.
type ModuleIn struct {
	Module string `json:"-" path:"module"`
}

// ModuleAddIn says where a module's source is.
type ModuleAddIn struct {
	Module     string `json:"-" path:"module"`
	Repository string `json:"repository"`
	Ref        string `json:"ref,omitempty"`
	Folder     string `json:"folder,omitempty"`
}

// ModuleOut is a module.
type ModuleOut struct {
	Module     string    `json:"module"`
	Repository string    `json:"repository"`
	Ref        string    `json:"ref,omitempty"`
	Folder     string    `json:"folder,omitempty"`
	Policy     string    `json:"policy"`
	AddedBy    string    `json:"added_by"`
	AddedAt    time.Time `json:"added_at"`
	Already    bool      `json:"already,omitempty"` // it was there before it was added
}

// ModulesOut is every module.
type ModulesOut struct {
	Modules []ModuleOut `json:"modules"`
}

// ModuleShowOut is one module with what is known of it.
type ModuleShowOut struct {
	ModuleOut
	Status       status.Module `json:"status"`
	Provides     []string      `json:"provides,omitempty"`          // good for the node that it is on
	Offers       []string      `json:"provides_for_mesh,omitempty"` // good for the whole mesh
	Requires     []string      `json:"requires,omitempty"`
	Instances    []Instance    `json:"instances,omitempty"`
	Grants       []Grant       `json:"grants,omitempty"`
	Claims       []string      `json:"claims,omitempty"`
	Capabilities []string      `json:"capabilities,omitempty"`
	Summary      string        `json:"summary,omitempty"`
	Writes       []Write       `json:"declared"`
}

// Instance is one thing that a module needs made for it.
type Instance struct {
	Name      string   `json:"name"`
	Of        string   `json:"of"`
	GrantedBy []string `json:"granted_by,omitempty"` // the modules that say they make it
}

// Grant is one kind of thing that a module makes for others.
type Grant struct {
	Kind  string   `json:"kind"`
	Says  string   `json:"says,omitempty"`
	Takes []string `json:"takes,omitempty"` // what an instance may choose
	Gives []string `json:"gives,omitempty"` // the names of what comes back
}

// Write is one declare-write.
type Write struct {
	Build  string    `json:"build"`
	Commit string    `json:"commit"`
	Nodes  []string  `json:"nodes"`
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	Why    string    `json:"why,omitempty"`
}

// PolicyIn is who declares.
type PolicyIn struct {
	Module string `json:"-" path:"module"`
	Policy string `json:"policy"`
}

// DeclareIn says which build, on which nodes. Empty means the newest, and everywhere the module belongs.
type DeclareIn struct {
	Module string   `json:"-" path:"module"`
	Build  string   `json:"build,omitempty"` // a digest, or the beginning of one or of a commit
	Nodes  []string `json:"nodes,omitempty"`
	Why    string   `json:"why,omitempty"`
}

// DeclareOut is what was written.
type DeclareOut struct {
	Module  string   `json:"module"`
	Build   string   `json:"build"`
	Commit  string   `json:"commit"`
	Verdict string   `json:"verdict"`
	Nodes   []string `json:"nodes"`   // names of those whose declaration names it now
	Already []string `json:"already"` // names of those whose declaration named it before
}

// NodeIn names a node, by name or id.
type NodeIn struct {
	Node string `json:"-" path:"node"`
}

// NodeAllowIn names a plan that is held back from a node, by its digest or the first of it.
type NodeAllowIn struct {
	Node   string `json:"-" path:"node"`
	Digest string `json:"digest"`
}

// NodeAllowOut is what was allowed.
type NodeAllowOut struct {
	Node   string `json:"node"`
	Name   string `json:"name"`
	Gone   int    `json:"gone"` // resources that it removes
	Of     int    `json:"of"`   // resources that the node holds
	Digest string `json:"digest"`
}

// NodeAddIn names a new node.
type NodeAddIn struct {
	Node  string `json:"-" path:"node"`
	Lives int64  `json:"lives,omitempty"` // seconds that the token lives; an hour where it is not given
}

// TokenOut is a token, shown once.
type TokenOut struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Token   string    `json:"token"`
	Expires time.Time `json:"expires"`
}

// NodeOut is a node.
type NodeOut struct {
	status.Node
	AddedAt  time.Time `json:"added_at"`
	JoinedAt time.Time `json:"joined_at,omitzero"`
}

// NodesOut is every node.
type NodesOut struct {
	Nodes []NodeOut `json:"nodes"`
}

// NodeShowOut is one node with its assignments and last report.
type NodeShowOut struct {
	NodeOut
	Assigned  []Assigned `json:"assigned"`
	Accepted  string     `json:"accepted,omitempty"` // epoch/generation
	Applied   string     `json:"applied,omitempty"`  // epoch/generation
	Resources []Resource `json:"resources"`

	Facts *report.Facts `json:"facts,omitempty"` // what it says of itself
	Boot  string        `json:"boot,omitempty"`  // which start of the machine its last report is of
	Ahead int64         `json:"ahead,omitempty"` // milliseconds of its clock before the controller's, at its last hello
}

// Assigned is one assignment.
type Assigned struct {
	Module   string            `json:"module"`
	Settings map[string]string `json:"settings,omitempty"`
}

// Resource is one resource as the node's last report has it.
type Resource struct {
	Resource string `json:"resource"`
	State    string `json:"state"`
	Error    string `json:"error,omitempty"`
	Found    string `json:"found,omitempty"`
}

// AssignIn assigns a module to a node.
type AssignIn struct {
	Node     string            `json:"-" path:"node"`
	Module   string            `json:"-" path:"module"`
	Settings map[string]string `json:"settings,omitempty"`
}

// UnassignIn takes an assignment back.
type UnassignIn struct {
	Node   string `json:"-" path:"node"`
	Module string `json:"-" path:"module"`
}

// AssignOut is what belongs on the node now.
type AssignOut struct {
	Node       string        `json:"node"`
	Name       string        `json:"name"`
	Modules    []string      `json:"modules"`    // that belong on it, providers first
	Undeclared []string      `json:"undeclared"` // those of them that are not declared there yet
	LeftOut    []plan.Reason `json:"left_out"`   // what cannot be brought there yet, and why
}

// BuilderIn names a builder.
type BuilderIn struct {
	Builder string `json:"-" path:"builder"`
}

// BuildersOut is every builder.
type BuildersOut struct {
	Builders []BuilderOut `json:"builders"`
}

// BuilderOut is one builder.
type BuilderOut struct {
	Builder  string    `json:"builder"`
	Name     string    `json:"name"`
	Version  string    `json:"version"`
	Platform string    `json:"platform"`
	Sandbox  string    `json:"sandbox,omitempty"` // why it has none
	Unwell   string    `json:"unwell,omitempty"`  // why it takes no work now
	Lacks    string    `json:"lacks,omitempty"`   // which limits of a build its machine does not hold
	LastSeen time.Time `json:"last_seen,omitzero"`
}

// LoginAddIn names a person and a role.
type LoginAddIn struct {
	Name string `json:"-" path:"name"`
	Role string `json:"role"`
}

// LoginOut is a login, shown once.
type LoginOut struct {
	Name  string `json:"name"`
	Role  string `json:"role"`
	Login string `json:"login"`
}

// JoinIn is what a node or builder says to join.
type JoinIn = identity.JoinRequest

// JoinOut is what it is told.
type JoinOut = identity.JoinAnswer

// HookIn names a module. The rest is what a forge signed, believed by nobody yet.
type HookIn struct {
	Module    string `json:"-" path:"module"`
	Body      []byte `json:"-"` // empty where nothing is signed, or where it is too big
	Signature string `json:"-"` // the hexadecimal HMAC-SHA256 of Body
	Token     string `json:"-"` // the secret itself, as GitLab sends it
	From      string `json:"-"` // the address that it came from, as the connection says it
}

// HookOut is what to give to a forge.
type HookOut struct {
	URL    string `json:"url"`
	Secret string `json:"secret"`
}

// LookIn names a module to look at.
type LookIn struct {
	Module string `json:"-" path:"module"`
	Again  bool   `json:"again,omitempty"` // ask again for a build that failed or was withdrawn
}

// LookOut is what the look led to at once.
type LookOut struct {
	Attempt int64 `json:"attempt,omitempty"` // the build that was asked for again
}
