// Package intime is how a question goes out over HTTP: what comes in answer comes in time, or not at all.
//
// The law: an answer to a question that was given up is none. A server that sees its
// client go may still answer, with nothing or with half of it, and the connection may
// carry that before it is closed. Net/http then gives the answer, and whoever judges
// it would hold against the server what was never its word.
package intime
