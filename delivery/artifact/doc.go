// Package artifact is what has been built: its closure, and whether it is current.
//
// The law: a build is current when the tree that it was made of, its platform
// and every input of its closure are what they would be now. It is answered
// from the record, without building.
package artifact
