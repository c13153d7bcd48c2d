//go:build race

package sim

// raced is that the race detector runs goroutines in an order of its own.
const raced = true
