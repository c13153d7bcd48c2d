// Package inventorystore is the records of inventory: nodes, assignments, the ledger, what was sent and reported.
//
// The ledger holds every (epoch, generation, digest) that was ever issued; a
// generation is taken in the transaction that stores the digest, and a node's
// generations only go up. What a node says counts only upward: a hello by its
// counter, a report by its sequence. An id that was once a node's is never
// another's.
package inventorystore
