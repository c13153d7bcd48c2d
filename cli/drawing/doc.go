// Package drawing is a graph of modules as text, as dot and as svg (pure).
//
// The law:
//
//   - A drawing is a function of the graph, whatever order it comes in within a layer.
//   - What is drawn is everything that is in the graph: no edge is left out, and
//     the kinds of edges are told apart by more than colour.
//   - A name is never cut; words about it are, where a line has no room.
//   - A name is data: whatever is in it, a drawing is well-formed, and sends a
//     terminal nothing that it would obey.
package drawing
