// Package provenance is what a build was made of, by whom and when, in the form that others verify too: an in-toto statement (pure).
//
// The statement is of version 1, its predicate SLSA's provenance of version 1. It
// follows from the request, from what was published, and from two times: whoever
// knows these makes the same statement. So it is verified by being made again, and
// a field that the mesh does not know of does not pass.
package provenance
