// Package line is the whole line in one process: a controller, builders and hosts as values, on real git, broker, registry and record.
//
// It holds tests and nothing else. Each of them is a sentence that must be true
// of the whole: what no room can promise alone.
package line
