// Package sim is the mesh in one process on fakes at its rim: every message, transaction and read is an event, and a seed decides what becomes of it.
//
// The controller, the builder and the host are the real ones, with their loops,
// rules, records and disks (controller.On, builder.On, host.On). What they stand
// on is not: the network, the broker, the forge, the registry, what commands do,
// time and chance. Whatever a program does outside its own folder is posted to
// one queue and waits there. The driver waits until nothing can move
// (synctest.Wait), takes one event by the seed's random numbers, and lets it
// happen, or not, or twice, or late.
//
//	deeds ──► storm: faults ──► heal ──► settle: all comes out right, or says why
//	                 └── invariant.Always, truth ──┘        └── invariant.AtEnd
//
// # Laws
//
// Nothing is checked by a program's word. A report is held against the disk that
// it was made of, when it leaves its node; what the status calls applied must
// have been proved so (truth). What a controller shows must be what its record
// holds (copied), a receipt that leaves it must stand in the record
// (acknowledges), and no single write may do what is never right (strictly).
// Once the faults have stopped, the last commit of every module is out
// everywhere within twenty minutes by the clock of the seed.
//
// # A seed that fails
//
// It prints itself and the command that plays it again; -trace shows every
// event, -log what the programs log as well. A line of the trace is the time
// since the beginning, who acts, and what: "reads for declare/n1" is a
// transaction of that loop, "reads for all" one that several share, "post" is a
// message that arrives, "world" a deed, "finding" the end.
//
//	make sim              3,000 seeds, and every planted bug found
//	make soak FOR=1h      new seeds until then
//	go test ./internal/sim -run 'TestSim$' -seed=7 -trace
//
// # Two runs of a seed
//
// Keys, ids, jitter and latencies come from the seed; what was posted in one
// moment is ordered by what it is, and one goroutine runs at a time. What is left
// to chance is what a select that could go two ways does, a goroutine that the
// runtime takes off after ten milliseconds, and with -side above 1, or under the
// race detector, which of several goroutines shares a reading with which. So most
// seeds give one trace, and a finding that does not come again came from one of
// these: play the seed a few times. TestSameSeedSameTrace holds some seeds to it.
//
// A program is killed at a transaction, before or after it, or between any two
// of its events. Between two effects on its own disk it is killed by the crash
// sweep, with real processes.
//
// # To add something
//
//   - a deed: a method of world in deeds_test.go, and a line in its table. What
//     should be over later is given to while or later; heal must end it.
//   - a fault: a chance where the event happens. chance is false once all is calm.
//   - an actor: a type that begins a program, and whatever it asks for in turn.
//   - a bug: see package planted.
package sim
