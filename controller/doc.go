// Package controller is the loops and the wiring; it owns no rule.
//
//	source ──► graph ──► build ──► verdict ──► declaration ──► host ──► report ──► status
//	sourceloop        buildloop   work.go     declareloop             hear.go     answers
//
// Each loop looks at the whole difference, takes one idempotent step and looks
// again. Whatever comes over the broker or the API changes the record in one
// transaction and then only says "look now". Kill it at any instruction, start
// it again, and the next comparison goes on.
package controller
