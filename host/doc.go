// Package host is on every node: apply, read back, report; decides nothing.
//
// It makes its node what the node's declaration says, reads every resource back,
// records it, and says so, signed with the node's key. It depends on nothing:
// without a link it goes on with the declaration that it accepted last, and
// looks for drift on its own timer. The law:
//
//	accepted (durable) ─► effects ─► read back ─► record ─► report
//
// A declaration is believed for its signature, by a key that the pinned root
// names, and for nothing else; (epoch, generation) only ever goes up. What a
// declaration can ask for is a resource type of this program; there is no
// command in it.
package host
