// Package fleet measures one controller with thousands of nodes: real links, signatures, record and broker, and light hosts.
//
// The controller, the nodes and the bare broker that it is compared with are
// processes of their own, so that what each takes is its own. A light host
// judges a declaration as a host does, by signature and order, and reports each
// resource as read back; it has no disk.
package fleet
