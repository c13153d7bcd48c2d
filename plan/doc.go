// Package plan is what one node should be, from every context's facts, or why that cannot be worked out (pure).
//
// The same facts give the same body, whatever order they come in, and facts of
// another node have no part in it. The law of what cannot be worked out:
//
//   - Inability never removes. A module that the node does not have yet is left
//     out and named, and so is what requires it; when one that the node already
//     has cannot be worked out, nothing is sent.
//   - What a module needs is there whole, or nothing of the module is: an instance
//     that nobody makes and a capability that the node has not are reasons.
//   - On a node one thing has one owner: a port, a name, a path and, unless it is
//     a directory, everything below it. Of two that claim the same, the one that
//     the node already has keeps it; the other is named, and so is the owner.
package plan
