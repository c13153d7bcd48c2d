// Package checks asks whether something on the network answers: by HTTP, by TCP, or by the name service.
//
// It asks this machine, and no other that its operator has not named: the address is
// looked at when a connection is made to it, whatever name led there, and a redirect
// is an answer like every other and followed nowhere. What came back is a status, and
// never what somebody wrote: nothing of a body, a header or a banner leaves here.
package checks
