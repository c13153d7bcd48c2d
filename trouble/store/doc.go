// Package troublestore is the records of trouble.
//
// One row per thing that keeps trying and does not get there; a success takes
// it away.
package troublestore
