// Package link is what crosses between the programs: envelopes and signatures, messages, subjects and who may use which.
//
// Whatever lands on a subject is believed by its signature and by nothing else.
// Every message is a DSSE envelope over a payload that carries its format
// version. The table in subject.go is the only place that names a subject or
// gives a permission.
package link
