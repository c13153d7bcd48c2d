// Package db is the record's database: SQLite or Postgres, one SQL text, one fenced write.
//
// The law: a write is one transaction that holds only while this process is the
// one that may write. The row fence names the epoch and its holder; Write locks
// that row, finds its own epoch in it or changes nothing, and so every write of
// the record stands in one order, in one process or in several. Once another
// controller has taken over, no write of this one commits again.
//
//	Open ── Resume (the same holder) ──┐
//	     └─ TakeOver (another holder) ─┴─► Write … Write … ─► Conflict, once taken over
//
// One SQL text runs on both databases: parameters are $1..$n in the order of
// their first use, times are Unix milliseconds, yes and no are 1 and 0,
// documents are JSON text. Text is compared and ordered in Go and not in SQL
// wherever the order of letters matters, because a Postgres has its own.
package db
