// Package identity is joining, keys, roles: who somebody is and what they may do.
//
// A node or a builder joins once, with a token that a person carried there. The
// token pins the mesh's CA and its root key, so that the first contact is as
// safe as any later one: the other end is proven before the secret is sent, and
// what it answers is proven before it is believed. Keys are made where they are
// used and never leave; what is sent is their public half. An id is minted by
// the controller, random, and never used again; a name is a label.
package identity
