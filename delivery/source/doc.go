// Package source is what source exists: which commit and tree a module is at (pure).
//
// A look either reads a commit or says why it could not, and both are values. A
// failed look keeps the last commit that was read: an unreachable forge, a
// deleted branch and a broken manifest are states that are shown, and none of
// them ever means that the module is gone.
package source
