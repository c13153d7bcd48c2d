// Package archtest checks the tree against ARCHITECTURE.md.
//
// A sentence about the architecture that no test holds is a wish. The table in
// ARCHITECTURE.md says which packages there are, what each one is, which of the
// others it may import and what it stands on from outside; the checks here fail
// on every difference, and on what the rules of the house forbid. The files are
// read here and not by a child process: Go's test cache notices only what the
// test itself opens.
package archtest
