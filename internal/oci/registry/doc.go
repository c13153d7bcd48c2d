// Package registry is the registry itself, embedded, with the mesh's own authorisation in front.
//
// Every request is taken apart here before the registry behind sees it: which
// repository, read or write, whose credential, which open build request. Only
// what the mesh uses exists: blobs and manifests by digest. There is no tag, no
// list, no mount from another repository, and nothing can be deleted.
package registry
