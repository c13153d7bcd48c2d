// Package version is which versions of the host lie on its machine, which of them runs, and which has failed here.
//
// The package of the host puts its version in place and says so with a link; the
// host that has started and completed one reconcile keeps a copy of itself, and
// that is the confirmed version, to which the machine goes back. Which one runs is
// decided before each start by a script of the package, from these alone:
//
//	installed ──► versions/2.0.0     the package's own
//	confirmed ──► kept/1.0.0         a copy, with its digest; the host's own
//	failures                         a line for each time that a version ended before it was confirmed
//	runs      ──► one of the two     what the service manager starts
//
// A version that has failed as often as the script lets it does not run here
// again; nothing else remembers that, and nothing is locked. What is confirmed is
// never counted, so there is nothing to go back and forth between.
package version
