// Package stage is the files of an image while it is made: what it stands on, what is put into it, and how both differ.
//
// A stage is a copy: what it stands on is somebody else's too. Whatever is put into it
// or read from it is found through every link and never out of it; nothing runs in it
// while it is looked at. What differs is found by content: no time and no owner of a
// file has a part in it.
package stage
