// Package documenttest is what holds of every decoder: it says plainly what is wrong, and takes what it writes.
//
// A fuzz target of a decoder is one call of Fuzz. Whatever comes in, the
// decoder ends, allocates in proportion to what came, and answers with a value
// that encodes, decodes and encodes to the same bytes, or with an error of the
// right kind that a terminal can show as it is.
package documenttest
