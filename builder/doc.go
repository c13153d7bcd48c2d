// Package builder is one order: clone fresh, build, test, pack, publish, answer.
//
// A builder takes requests off one queue that it shares with all others, one at
// a time, each under a lease. It makes what the request asks for from nothing
// but the request's own tree, and what comes out depends on that tree alone:
// not on the builder, its folders, user, clock or locale.
//
//	ask ──► clone ──► build ──► pack ──► test ──► publish ──► keep ──► answer
//	          │         └──── in a sandbox ────┘      │
//	          └── working: the lease and the log ─────┘
//
// The laws. A failure is a result, and a broken surrounding is neither fit nor
// unfit. Nothing is published until everything is built. An answer is on disk
// before it is sent, and stays there until its receipt. A module's commands see
// no key, no broker, no controller and of the network only what is public, and
// that where their module asks for it; of what others have made they are given
// what their lock files name. They leave nothing behind.
// Kill a builder anywhere: started again, it finds nothing half.
package builder
