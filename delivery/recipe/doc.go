// Package recipe reads a container file into what is done for its image, or says which line of it is not taken (pure).
//
// Everything that is not taken is named with its line before anything is done. What
// is done is said in acts: to copy, to make a folder, to run a command. What they
// say of the image is worked out beside them, from what it stands on.
package recipe
