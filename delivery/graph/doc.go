// Package graph is the edges between modules: resolve, order, name what stands against it (pure).
//
// This is the graph of presence: a requirement is met by the one module that
// provides that name, and a module provides its own name. The law:
//
//   - What belongs together is a set, and its order is a property of the set:
//     providers before their consumers, whatever order the modules and the roots
//     come in and whichever of them the roots are.
//   - A requirement that nothing or more than one thing provides, and a cycle,
//     are problems, with the candidates and the whole cycle named. They are never
//     an edge less, and they take nothing out of the set: that a module belongs
//     somewhere is a decision, and whether it can be worked out is another fact.
//     Of several that are declared here and provide one thing, all belong.
//   - A thing that is good for the whole mesh meets a requirement as soon as what
//     provides it is declared on any node, and is never brought along; so two of
//     them are no harm, and two modules on different nodes may need each other's.
//   - What is declared in the place that is asked about provides before what only
//     could be: a commit that provides more changes nothing until it is declared.
package graph
