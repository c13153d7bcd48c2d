package api

import (
	"net/http"
	"reflect"

	"noxmesh/identity"
)

// Row is one line of the table.
type Row struct {
	Name    string
	Method  string
	Path    string        // with {names} of fields of In that carry the tag `path`
	Role    identity.Role // the least that may make the call
	Summary string        // one sentence, for the description
	In, Out reflect.Type
	Limit   int // of its body, in bytes, where that is another than of most
}

// Call is one question or order: a row with its types.
type Call[In, Out any] struct{ Row Row }

func call[In, Out any](name, method, path string, role identity.Role, summary string) Call[In, Out] {
	return Call[In, Out]{Row{name, method, path, role, summary, reflect.TypeFor[In](), reflect.TypeFor[Out](), 0}}
}

// Nothing goes in, or comes out.
type Nothing struct{}

// Table is every row, in the order of the description.
func Table() []Row {
	return []Row{
		Version().Row, Status().Row, Plans().Row, Push().Row,
		ModuleAdd().Row, Modules().Row, ModuleShow().Row, ModuleRemove().Row, ModuleLook().Row, ModuleHook().Row, ModulePolicy().Row, Declare().Row,
		NodeAdd().Row, Nodes().Row, NodeShow().Row, NodeRemove().Row, NodeAllow().Row, Assign().Row, Unassign().Row,
		Secrets().Row, SecretRecipients().Row, SecretSet().Row, SecretRemove().Row,
		Builds().Row, BuildShow().Row, BuildCheck().Row, Log().Row, Provenance().Row, BuildCancel().Row, Collect().Row, Graph().Row, Why().Row, Change().Row, Owners().Row, Stales().Row,
		BuilderAdd().Row, Builders().Row, BuilderRemove().Row,
		LoginAdd().Row, Join().Row, Hook().Row,
	}
}

// Version asks which program answers.
func Version() Call[Nothing, VersionOut] {
	return call[Nothing, VersionOut]("version", http.MethodGet, "/v1/version", identity.Viewer, "Which controller answers, and of which mesh.")
}

// Status asks for the two comparisons, of everything or of one module or node.
func Status() Call[StatusIn, StatusOut] {
	return call[StatusIn, StatusOut]("status", http.MethodGet, "/v1/status", identity.Viewer, "Did it go out? Every module and every node, or one.")
}

// Plans asks what nodes should be, or why that cannot be worked out.
func Plans() Call[PlansIn, PlansOut] {
	return call[PlansIn, PlansOut]("plan", http.MethodGet, "/v1/plan", identity.Viewer, "What each node should be, or why that cannot be worked out.")
}

// Push drops backoff, sends what is wanted and waits for receipts. It never changes what is wanted.
func Push() Call[PushIn, PushOut] {
	return call[PushIn, PushOut]("push", http.MethodPost, "/v1/push", identity.Operator, "Send now what is wanted, and wait for receipts.")
}

// ModuleAdd adds a module by where its source is.
func ModuleAdd() Call[ModuleAddIn, ModuleOut] {
	return call[ModuleAddIn, ModuleOut]("module-add", http.MethodPut, "/v1/modules/{module}", identity.Operator, "Add a module by where its source is.")
}

// Modules lists the modules.
func Modules() Call[Nothing, ModulesOut] {
	return call[Nothing, ModulesOut]("modules", http.MethodGet, "/v1/modules", identity.Viewer, "Every module.")
}

// ModuleShow shows one module.
func ModuleShow() Call[ModuleIn, ModuleShowOut] {
	return call[ModuleIn, ModuleShowOut]("module", http.MethodGet, "/v1/modules/{module}", identity.Viewer, "One module, its manifest and its declare-writes.")
}

// ModuleRemove removes a module that is assigned nowhere.
func ModuleRemove() Call[ModuleIn, Nothing] {
	return call[ModuleIn, Nothing]("module-remove", http.MethodDelete, "/v1/modules/{module}", identity.Operator, "Remove a module that is assigned nowhere.")
}

// ModuleLook looks at a module's source now, and asks again for a build that was given up.
func ModuleLook() Call[LookIn, LookOut] {
	return call[LookIn, LookOut]("module-look", http.MethodPost, "/v1/modules/{module}/look", identity.Operator,
		"Look at a module's source now, and ask again for a build of it that failed or was withdrawn where that is wanted.")
}

// ModuleHook is where a forge calls for a module, and with which secret.
func ModuleHook() Call[ModuleIn, HookOut] {
	return call[ModuleIn, HookOut]("module-hook", http.MethodPost, "/v1/modules/{module}/hook", identity.Operator,
		"Where a forge's webhook calls for a module, and the secret that it signs with.")
}

// ModulePolicy says who declares a module's builds.
func ModulePolicy() Call[PolicyIn, ModuleOut] {
	return call[PolicyIn, ModuleOut]("policy", http.MethodPut, "/v1/modules/{module}/policy", identity.Operator, "Say who declares a module's builds: manual or auto.")
}

// Declare makes the affected declarations name a build: one write.
func Declare() Call[DeclareIn, DeclareOut] {
	return call[DeclareIn, DeclareOut]("declare", http.MethodPost, "/v1/modules/{module}/declare", identity.Operator, "Declare a build on the nodes that the module belongs on, in one write.")
}

// NodeAdd adds a node and makes the token that it joins with.
func NodeAdd() Call[NodeAddIn, TokenOut] {
	return call[NodeAddIn, TokenOut]("node-add", http.MethodPut, "/v1/nodes/{node}", identity.Operator, "Add a node, and make the token that it joins with.")
}

// Nodes lists the nodes.
func Nodes() Call[Nothing, NodesOut] {
	return call[Nothing, NodesOut]("nodes", http.MethodGet, "/v1/nodes", identity.Viewer, "Every node.")
}

// NodeShow shows one node.
func NodeShow() Call[NodeIn, NodeShowOut] {
	return call[NodeIn, NodeShowOut]("node", http.MethodGet, "/v1/nodes/{node}", identity.Viewer, "One node, its assignments and its last report.")
}

// NodeRemove removes a node and cuts its link.
func NodeRemove() Call[NodeIn, Nothing] {
	return call[NodeIn, Nothing]("node-remove", http.MethodDelete, "/v1/nodes/{node}", identity.Operator, "Remove a node: its keys are refused from then on.")
}

// NodeAllow lets a plan go out that removes much of what a node holds.
func NodeAllow() Call[NodeAllowIn, NodeAllowOut] {
	return call[NodeAllowIn, NodeAllowOut]("node-allow", http.MethodPost, "/v1/nodes/{node}/allow", identity.Operator,
		"Let a plan that would remove much of what a node holds be sent to it: this one, once.")
}

// Assign says that a module belongs on a node.
func Assign() Call[AssignIn, AssignOut] {
	return call[AssignIn, AssignOut]("assign", http.MethodPut, "/v1/nodes/{node}/modules/{module}", identity.Operator, "Assign a module to a node, with settings.")
}

// Unassign takes that back.
func Unassign() Call[UnassignIn, AssignOut] {
	return call[UnassignIn, AssignOut]("unassign", http.MethodDelete, "/v1/nodes/{node}/modules/{module}", identity.Operator, "Take an assignment back; what the module put on the node is removed.")
}

// Builds lists past builds.
func Builds() Call[BuildsIn, BuildsOut] {
	return call[BuildsIn, BuildsOut]("builds", http.MethodGet, "/v1/builds", identity.Viewer, "Past builds, newest first.")
}

// BuildShow shows one build.
func BuildShow() Call[BuildIn, BuildShowOut] {
	return call[BuildIn, BuildShowOut]("build", http.MethodGet, "/v1/builds/{build}", identity.Viewer, "One build: what was asked for, what became of it, and the end of its log.")
}

// BuildCheck makes a build once more, to be compared.
func BuildCheck() Call[BuildIn, CheckOut] {
	return call[BuildIn, CheckOut]("build-check", http.MethodPost, "/v1/builds/{build}/check", identity.Operator,
		"Make a build once more, by another builder where there is one, and compare what comes of it.")
}

// Log asks for a build's log from an offset.
func Log() Call[LogIn, LogOut] {
	return call[LogIn, LogOut]("log", http.MethodGet, "/v1/builds/{build}/log", identity.Viewer, "A build's log.")
}

// Provenance asks what a build was made of, by whom and when.
func Provenance() Call[ProvenanceIn, ProvenanceOut] {
	return call[ProvenanceIn, ProvenanceOut]("provenance", http.MethodGet, "/v1/builds/{build}/provenance", identity.Viewer,
		"What a build was made of, as its builder has signed it.")
}

// BuildCancel ends a build that waits or is being made.
func BuildCancel() Call[BuildIn, CancelOut] {
	return call[BuildIn, CancelOut]("build-cancel", http.MethodPost, "/v1/builds/{build}/cancel", identity.Operator,
		"Cancel a build that waits for a builder, or that one is making.")
}

// Collect takes away from the registry what nothing names, or looks what that would be.
func Collect() Call[CollectIn, CollectOut] {
	return call[CollectIn, CollectOut]("collect", http.MethodPost, "/v1/registry/collect", identity.Operator, "Take away from the registry what nothing names, or look what that would be.")
}

// Graph asks for modules and the edges between them.
func Graph() Call[GraphIn, GraphOut] {
	return call[GraphIn, GraphOut]("graph", http.MethodGet, "/v1/graph", identity.Viewer, "Modules and the edges between them: build, presence and instances.")
}

// Why asks why a module needs another, or is on a node.
func Why() Call[WhyIn, WhyOut] {
	return call[WhyIn, WhyOut]("why", http.MethodGet, "/v1/why/{what}/{module}", identity.Viewer, "Why a module needs another, or why a module is on a node.")
}

// Change asks what a commit would change. It reads that commit, and records nothing.
func Change() Call[ChangeIn, ChangeOut] {
	return call[ChangeIn, ChangeOut]("change", http.MethodGet, "/v1/modules/{module}/change", identity.Viewer, "What a commit of a module would change: what is built again, in order, and on which nodes that is.")
}

// Owners asks who owns what the code in somebody's folder asks for.
func Owners() Call[OwnersIn, OwnersOut] {
	return call[OwnersIn, OwnersOut]("owners", http.MethodPost, "/v1/modules/{module}/owners", identity.Viewer, "Which modules own what the code of a module asks for, before it is committed: the edges that it would have.")
}

// Stales asks which modules are not current, and why.
func Stales() Call[Nothing, StaleOut] {
	return call[Nothing, StaleOut]("stale", http.MethodGet, "/v1/stale", identity.Viewer, "Every module that is not current, with its reason, and what it waits for.")
}

// BuilderAdd makes the token that a builder joins with.
func BuilderAdd() Call[BuilderIn, TokenOut] {
	return call[BuilderIn, TokenOut]("builder-add", http.MethodPut, "/v1/builders/{builder}", identity.Operator, "Make the token that a builder joins with.")
}

// Builders lists the builders.
func Builders() Call[Nothing, BuildersOut] {
	return call[Nothing, BuildersOut]("builders", http.MethodGet, "/v1/builders", identity.Viewer, "Every builder that has joined.")
}

// BuilderRemove removes a builder and cuts its link.
func BuilderRemove() Call[BuilderIn, Nothing] {
	return call[BuilderIn, Nothing]("builder-remove", http.MethodDelete, "/v1/builders/{builder}", identity.Operator, "Remove a builder: its keys are refused from then on.")
}

// LoginAdd makes a login for the TLS port.
func LoginAdd() Call[LoginAddIn, LoginOut] {
	return call[LoginAddIn, LoginOut]("login-add", http.MethodPut, "/v1/logins/{name}", identity.Operator, "Make a login for a person, shown once.")
}

// Join is how a node or a builder becomes part of the mesh: its token is the permission.
func Join() Call[JoinIn, JoinOut] {
	return call[JoinIn, JoinOut]("join", http.MethodPost, "/v1/join", identity.Anyone, "Join with a token.")
}

// Hook is what a forge calls: it means "look now". Where the forge is behind what
// it says there, signed, that is shown; nothing else in it is believed.
func Hook() Call[HookIn, Nothing] {
	return call[HookIn, Nothing]("hook", http.MethodPost, "/hooks/{module}", identity.Anyone, "Look at a module's source now. The body is read only where it is signed: GitHub, GitLab, Gitea, Forgejo.")
}
