// Package container is what a runtime of containers says of what it has, and what it is told: the same whichever runs them.
//
// It is told apart what is the mesh's: a container that a unit of the host has started
// has a mark, and nothing without one is ever touched. What a runtime has is taken for
// the declared image by digests alone, never by a name.
package container
