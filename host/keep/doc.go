// Package keep is what a host keeps on disk: identity, accepted declaration, record, report.
//
// Everything is a file of one folder that only root may enter. A file is
// replaced as a whole (written beside, synced, renamed, and the folder synced),
// and begins with the digest of the rest: it is the old one or the new one,
// and one that is neither is named and never taken for "nothing yet". The law
// is that the record follows the fact, except for one line: that something is
// about to be made stands in the record before it is made, or what the host
// made would one day look as if it had always been there.
package keep
