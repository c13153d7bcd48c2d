// Package golang reads what Go code imports: sources, go.mod and go.work, for one platform (pure).
//
// It finds what the go command finds in ./... of each Go module in the folder,
// and what those packages import of the folder besides. The law:
//
//   - A module owns the path of each go.mod in its folder. Where the folder has
//     none at its top and stands in a Go module, it owns that module's path and
//     the rest of the folder's. Packages are owned with the path they begin with.
//   - A file counts where its name and its //go:build line say so: for the
//     platform, by gc, with cgo (so that import "C" is read, and is no import of
//     anything), with no tags of one's own, as Go 1.26 does. What only tests ask
//     for stands in files that end in _test.go.
//   - testdata, folders that begin with _ or ., and what go.mod ignores are read
//     where a package imports them, and are for tests if only tests do. Nothing
//     below vendor is read: it is a copy of what somebody else owns.
//   - What the standard library provides is a list of its packages, and not "has
//     no dot": example/site/page is an import.
//   - What go.mod or go.work replaces by a folder, and what stands in the same Go
//     module outside of the module's folder, is a path. All else is a name, as it
//     is written: a replacement by another module is no folder, and changes none.
//   - A relative import is a fault in a Go module, where the go command takes
//     none, and a folder of the repository elsewhere.
//   - Of the modules that go.mod and the folder know, the one with the longest
//     path provides a package.
//
// What no reading of imports can see: what cgo includes or links, what a
// generator or a plugin fetches while it runs, and which packages of a module
// that is in no go.mod there are: an import below a path that is owned is its owner's.
package golang
