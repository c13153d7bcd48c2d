// Package loop is one reconcile engine: keyed, level-triggered, coalescing, backing off.
//
// It decides when to look at a key, and never what the look finds. A look is a
// call of Step, which compares the whole of what one key is with what it should
// be and takes one step that may be taken twice. The law:
//
//   - A nudge only means "look now". Many nudges before a look are one look; one
//     that comes during a look means one more look after it. A nudge that never
//     came costs until the next full comparison, and nothing else.
//   - One key is never looked at twice at the same time.
//   - A failure is tried again, later each time; a nudge does not shorten that
//     wait, Forgive does. A fault that only a person can mend (fault.Invalid) is
//     not tried again by the clock alone: it waits for a nudge or for the next
//     full comparison.
//   - Every failure is recorded as trouble. Three alike are stuck, which is a
//     word for people: the engine goes on as before.
//   - A panic in a look is that key's trouble (fault.Broken), not the end of the
//     process.
//
// The engine holds no facts. Killed and started again, it lists the keys, looks
// at each one, and is where it was.
//
//	Nudge, Forgive ─┐
//	Keys, each Every┼─► plan: key, due ─► a worker ─► Step ─► settled: After, or nothing
//	backoff, After ─┘         ▲                         └───► failed: trouble, backoff
//	                          └──────────────────────────────────┘
package loop
