// Package oci is the registry's client: blobs and manifests by digest, and nothing by tag.
//
// What is pulled is right or is refused: the size is a limit while reading, and
// the digest is checked before the call returns. Credentials go to the registry
// that they are for and to no other, wherever an answer points. The registry
// itself is the package below; programs that only read never link it.
package oci
