// Package declaration is the language a host understands: what one node should be, strictly decoded, with a digest of its content alone.
//
// What and where are apart. The digest of a declaration is that of its node and
// its body. Where says how to get the bytes (registry, blobs, small bodies
// inline); it is signed with the rest, and changing it changes no digest and no
// machine. An action never comes from here: a resource names a type, and the
// host has its own set of them.
package declaration
