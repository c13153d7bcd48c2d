// Package machine is real Debian machines for tests: systemd-nspawn on an overlay.
//
// A machine boots systemd on a writable layer over a Debian that is made once
// and kept. It has its own process ids, its own control group, and its own network
// namespace, joined by a cable that can be cut to a bridge which itself stands in
// a namespace of its own: no address of it ever exists on the stack of the machine
// that the tests run on, and two runs do not meet.
//
// It needs root, systemd-nspawn, mmdebstrap, and for the first machine a Debian
// mirror. Able says what is missing. What this package starts it ends, also when
// the test fails; what stays is the Debian in the cache. Of a test that is killed the
// machines go when the next one raises some.
package machine
