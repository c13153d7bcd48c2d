// Package supply gives a build what its lock files name, and nothing else: fetched, proven by the lock's hash, kept.
//
// It is a small server that a sandbox reaches in place of the registries, for one
// build at a time. What is asked of it decides nothing but which of the named
// files are fetched: addresses come from the lock files and the builder's
// operator. The laws. No byte is given before the file has the hash of the lock.
// What was asked for, is named, and could not be given ends the build, whatever
// its commands make of that; that somebody's server does not answer is no verdict.
package supply
