// Package cli is what a person types: one file per command, and for each a story in cli/story.
//
// Results go to standard output, words to standard error, colour and progress
// only to a terminal. With -o json every command prints one document, and an
// error is one too.
package cli
