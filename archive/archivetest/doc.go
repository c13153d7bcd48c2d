// Package archivetest is a forger's hand: hostile indexes, streams and tables of frames, for whoever unpacks.
//
// Everything is written from the format's description, without the package's
// own code, so that it can lie in every field. No blob and no index of it may be
// unpacked anywhere.
package archivetest
