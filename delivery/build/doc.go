// Package build is the work order for a builder and the answer that comes back.
//
// A request's id is a hash of what is asked, so that asking twice is asking
// once. Two answers to one request are one fact; two answers with different
// digests are a finding, since the build is then not reproducible.
package build
