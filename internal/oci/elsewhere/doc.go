// Package elsewhere keeps what the mesh publishes in a registry that is not its own: blobs and manifests by digest, with the mesh's login.
//
// Only the controller is such a client: builders and nodes come to the registry in
// front of it, and never see the login. What that registry cannot do is found out
// by asking: where it lists no referrers, they are kept as the specification has it
// for such registries, under a tag of the manifest that they are about.
package elsewhere
