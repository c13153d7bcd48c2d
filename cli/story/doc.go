// Package story is what people do with the commands, in real programs: a script for each command.
//
// It has nothing but tests. They are a package of their own so that what other
// tests of the commands need does not start with each of the thousand programs
// that the stories are.
package story
