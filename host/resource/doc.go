// Package resource is one file per resource type: look, stage, commit, seal, read back, remove.
//
// A resource is a set of things: paths, each a file, a directory or a link. The
// engine goes through resources in waves. What depends on nothing that is still
// to come is one wave, and a wave costs the same number of syncs whatever is in it:
//
//	look at all ─► record what is about to be made ─► directories ─► stage beside
//	      ▲                                                              │
//	 next wave                                     sync each file system ▼
//	      └───────────────────── read back ◄─ commit (rename) ◄──────────┘
//
// After the last wave each file system is synced once more, and only then does
// the record say that what was read back is there.
//
// What differs is changed, and nothing else is written. The host's own is what
// it made; what was there before it came is taken over: changed where declared,
// released when no longer declared, and never removed. What was never declared
// is never touched.
package resource
