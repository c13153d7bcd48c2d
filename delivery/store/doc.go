// Package deliverystore is the records of delivery: modules, sources, requests, builds, declare-writes.
//
// Every function works inside a transaction of the record, so that what belongs
// together commits together. What may come twice (a request, an answer, a piece
// of a log) is one fact however often it comes. A request is leased before it
// is given and done once; a build is never declared without a verdict that
// allows it, whoever asks.
package deliverystore
