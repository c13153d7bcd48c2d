// Package planted is the bugs that the tests of the tests plant, each at its true place in the code.
//
// A checker that finds nothing proves something only where it would have found
// what is there. So every kind of mistake that the mesh is designed against can
// be made on purpose: a build with the tag meshbugs makes the one that MESH_BUG
// names, and make bugs demands that the simulation finds each of its own. In
// every other build Is is false, and costs nothing.
//
// To add one: put "if planted.Is(name)" where a careless change would put the
// mistake, add the name, who finds it and by which invariants to the list in
// names.go, and see that
// it is found. One that only a power cut or a real process can show is listed as
// theirs, and their tier runs with the same tag and MESH_BUG.
package planted
