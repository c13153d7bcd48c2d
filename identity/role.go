package identity

import (
	"noxmesh/document"
	"noxmesh/internal/fault"
)

// Role is what a login may do. The zero value is nobody's login.
type Role string

// The roles. Each may what those before it may. Anyone is no login's role: it
// is required of a call that brings its own proof, as a join does.
const (
	Anyone   Role = "anyone"
	Viewer   Role = "viewer"   // asks
	Operator Role = "operator" // decides: assigns, declares, lets join
)

// ParseRole is the role with this name.
func ParseRole(name string) (Role, error) {
	if r := Role(name); r.rank() > Anyone.rank() {
		return r, nil
	}
	return "", fault.New(fault.Invalid, "%q is not a role", document.Short(name)).With("the roles are %s and %s", Viewer, Operator)
}

// String is the role's name.
func (r Role) String() string { return string(r) }

// May reports whether who has this role may do what takes the other. What takes
// no known role, nobody may.
func May(role, required Role) bool {
	return required == Anyone || required.rank() > 0 && role.rank() >= required.rank()
}

func (r Role) rank() int {
	switch r {
	case Anyone:
		return 1
	case Viewer:
		return 2
	case Operator:
		return 3
	default:
		return 0
	}
}
