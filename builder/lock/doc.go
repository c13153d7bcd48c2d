// Package lock is what a tree takes from outside, by name, version and hash, as its lock files say.
//
// It reads go.sum and go.work.sum, package-lock.json and npm-shrinkwrap.json,
// requirements files with hashes, and Cargo.lock. The law: what has no hash that
// proves its bytes is not named, and why is said; what a lock file names can be
// put into an address as it is, and leads to no other place than its name says.
package lock
