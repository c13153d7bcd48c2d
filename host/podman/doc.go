// Package podman is what podman has on a machine, and what it is asked to fetch, to take in and to remove.
//
// It is told apart what is the mesh's: a container that a unit of the host has started
// has a mark, and nothing without one is ever touched. An image is fetched by its
// digest, or comes in as a stream, and counts once podman has it and says that it is
// that one. Podman is given no credential by the mesh.
package podman
