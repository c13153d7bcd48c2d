// Package report is what a node says after reading itself back.
//
// The host writes it, signs it with the node's key, and keeps the latest until
// the controller says that it is committed. Applied is a fact of a report and
// of nothing else.
package report
