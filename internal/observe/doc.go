// Package observe is what reads a record, a registry's folder, a node's root and a status for the checker of invariants.
//
// It believes nobody: what a program says is held against what lies on the disk,
// each digest is worked out anew and each signature is verified anew. It changes
// nothing, and may look while the programs run; where something moves under its
// eyes it looks again.
package observe
