// Package inventory is nodes, assignments, what was last sent and last reported; behind and stuck (pure).
//
// It compares what a node has accepted with what is wanted of it, and keeps
// apart: never told, out of date, outstanding, applied, failed. Nothing here
// reads a clock or a store.
package inventory
