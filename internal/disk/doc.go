// Package disk is what a file system's refusal means: which one it is, what is left on it, and what to do.
//
// The kernel says one word of a full disk, and of which disk it does not say.
// Every program asks Say where such an error becomes words for a person; an
// error of anything else is given back as it came.
package disk
