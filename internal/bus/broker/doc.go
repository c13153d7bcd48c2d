// Package broker is the broker itself, embedded: accounts and permissions made from the table of link.
//
// It carries and does not remember: no stream, no consumer, no disk. Each side
// is an account of its own, so that a reply subject of one reaches nothing of
// another; what crosses between them is exactly the rows of link.Subjects. A
// user is a key made where it is used, a name that the mesh minted, and a
// permission signed by a key that can give no other. There is one listener, TLS
// 1.3 with the handshake first, and nothing else is open.
package broker
