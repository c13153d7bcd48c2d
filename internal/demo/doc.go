// Command demo is the story that make demo tells: a commit becomes a running thing on three machines, and each has read it back.
//
// Everything in it is real: repositories in git, served over http; a controller,
// a builder and three hosts as processes of their own; and the same commands
// that a person would type. It ends with 0 only if all of it was true.
package main
