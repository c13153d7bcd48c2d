// Package mesh is the core library: a module, a node, an assignment.
//
// Every context talks about these three and none of them owns one. The test
// for belonging here: would it mean the same in a context that had never heard
// of the one it came from? The package imports nothing of the project.
package mesh
