// Package environment is what the image that modules are built in is now: one more thing that is compared (pure).
//
// A name that people write, as golang:1.22, means other bytes from one day to the
// next. The mesh looks where it points, as it looks where a branch points, and
// what counts is the digest of the image for one platform: what is pushed for
// another platform moves nothing. A look that fails keeps what was known: no
// registry that is away makes anything stale, or lets anything be built in
// something else.
package environment
