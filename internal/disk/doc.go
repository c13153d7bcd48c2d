// Package disk is files that are replaced whole, and what a file system's refusal means: which one it is, and what to do.
//
// Every small file that a program keeps is replaced by Replace: written beside,
// synced, renamed over the one that was, and the folder synced. After a kill or a
// power cut it is the one or the other.
//
// The kernel says one word of a full disk, and of which disk it does not say.
// Every program asks Say where such an error becomes words for a person; an
// error of anything else is given back as it came.
package disk
