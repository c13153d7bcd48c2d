// Package invariant is what must hold whatever fails: I1 to I10, checked by one checker.
//
// Every tier that makes something fail (the crash sweep, the power cut, the
// simulation, the machines) fills a Seen with what it observed and asks here
// whether it may be so. The check is a function of values: it reads nothing, and
// what it was not shown it says nothing about. Always is for any moment, also
// while a program is dead; AtEnd is for when faults have stopped and everything
// has had its time.
//
// Who observes a mesh that runs reads in this order: what was acknowledged
// (Acks, Node.Committed), then the status and the record, then the nodes. Each
// fact can then only be newer than what was claimed of it.
package invariant
