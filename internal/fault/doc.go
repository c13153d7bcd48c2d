// Package fault is the kinds of error: what a loop, an exit status and an HTTP answer make of a failure.
//
// An error says that a function could not do its job. An outcome that an
// operator must see (unfit, failed, outstanding) is a value and never comes
// through here. The kind decides three things, in three tables: whether a loop
// tries again, which exit status a command ends with, and which HTTP status an
// answer carries. Unavailable can never become a verdict.
package fault
