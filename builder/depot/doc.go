// Package depot is files from elsewhere that a builder keeps for later builds, each under the hash that proves it.
//
// A file gets its name only when its bytes have that hash, and whenever it is
// used it is hashed again: what a killed builder, a power cut or a bad disk has
// made of it is taken away, and fetched anew. So nothing waits for the disk here.
// Of all that is kept, what was not used for longest goes first.
package depot
