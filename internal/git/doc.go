// Package git is the real git, called with every dangerous input shut.
//
// Addresses, refs, commits and folders are checked before git sees them; git
// sees no configuration, no credential helper, no hook and no environment but
// ours, may speak only the one protocol that the address names, and runs in a
// process group of its own with a limit on time, output and size. What a
// repository holds is never run here, whatever its files are called.
//
// One question does not go through git, because it is asked of every repository
// every minute and starting a program for it costs more than the rest: where a
// ref stands, of a forge that speaks http and the second version of git's
// protocol. It is asked over connections that are kept, by the same rules for
// addresses, without credentials, and with the same answers (each test of a forge
// runs both ways). An answer that is not exactly in the protocol is thrown away,
// and git is asked.
//
// Of a commit that is looked at, only what will be read is fetched: its trees
// first, then blobs by their ids. Git fetches nothing by itself. A forge that does
// not give parts is asked for the whole commit, and what it says then counts.
package git
