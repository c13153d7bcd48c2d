// Package bus is the client's end of the broker, and the only importer of its client library.
//
// A connection is opened once and kept for ever: it comes back by itself, after
// a random wait, whatever ended it. What it says is true at the moment it says
// it: Publish returns nil only when the broker has the message, Request only
// with an answer, and nothing is kept back to be sent later without anybody
// knowing. Nothing that arrives here is believed yet: the subject proves who
// the broker let speak, the signature inside proves who said it, and that is
// judged elsewhere.
package bus
