// Package layer writes a folder as a layer of a container image, and an image on top of another: the same bytes for the same content.
//
// Everything in a layer belongs to root, or to whom a change says; only the executable bit of its files is
// kept, and every time is the same one. An image has one layer of its own, above
// those of what it stands on, and takes over what that says of itself, but for
// what it says anew. Nothing of when, where and from which commit it was made is
// in it: an image that says the same is the same.
package layer
