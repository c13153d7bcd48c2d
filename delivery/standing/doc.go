// Package standing is the state that the last look at something left it in, and since when (pure).
//
// The law: whatever is looked at, a source or an image, it is in one of the states
// that its package names; a state that is not among them is that nobody has looked;
// and since when it is in one stands still while later looks find the same.
package standing
