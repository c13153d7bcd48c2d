// Package graph is the edges between modules: resolve, order, name what stands against it (pure).
//
// This is the graph of presence: a requirement is met by the one module that
// provides that name, and a module provides its own name. The order puts every
// provider before its consumers and is the same whatever order the modules come
// in. A requirement that nothing or more than one thing provides, and a cycle,
// are problems with the candidates and the whole cycle named; they are never an
// edge less.
package graph
