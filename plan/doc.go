// Package plan is what one node should be, from every context's facts, or why that cannot be worked out (pure).
//
// The same facts give the same body, whatever order they come in. Inability
// never removes: a newly assigned module that cannot be worked out is left out
// and named; when one that the node already has cannot be, nothing is sent.
package plan
