// Package gitserve serves the repositories of a folder over http, read-only, by git's own http-backend.
//
// It is for tests and demonstrations on one machine: everybody who reaches it
// reads everything in the folder.
package gitserve
