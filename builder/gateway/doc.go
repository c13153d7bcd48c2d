// Package gateway is the one way from a build to other machines: a proxy that reaches public addresses only, and names each host.
//
// It speaks HTTP and CONNECT, since whatever fetches what a build is made of
// can speak through that. The law: what is dialled is an address that was looked at
// after its name was resolved, never the name again; and neither this machine,
// nor its neighbours, nor the mesh is ever among them.
package gateway
