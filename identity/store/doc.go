// Package identitystore is the records of identity: tokens, builders, logins.
//
// A secret is never in the record: its hash is. A token is used once, in the
// transaction that records what it let in. A builder's id, like a node's, is
// never given again.
package identitystore
