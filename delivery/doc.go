// Package delivery compares what exists with what was built, and names the next step for each difference (pure).
//
// There is no run and no list of stages. Compare looks at the whole of what is
// known of one module and says what differs: what to ask of a builder, what to
// declare, and what it waits for and since when. A step taken twice is a step
// taken once, and a step lost is found again by the next comparison.
package delivery
