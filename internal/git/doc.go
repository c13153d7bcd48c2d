// Package git is the real git, called with every dangerous input shut.
//
// Addresses, refs, commits and folders are checked before git sees them; git
// sees no configuration, no credential helper, no hook and no environment but
// ours, may speak only the one protocol that the address names, and runs in a
// process group of its own with a limit on time, output and size. What a
// repository holds is never run here, whatever its files are called.
package git
