// Package folder is a module's folder on a person's machine: what is wrong with it, and the smallest right module.json for it.
//
// It reads, and writes nothing: what to do with what it says is the caller's. It
// says of a folder what the mesh would say of a commit of it, as far as that can
// be told without a build.
package folder
