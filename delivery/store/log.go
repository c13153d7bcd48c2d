package deliverystore

import (
	"strings"
	"unicode/utf8"

	"noxmesh/internal/db"
	"noxmesh/internal/fault"
)

// LogLimit is how much of a log the record keeps: the beginning. A builder says
// the last lines of a failure in its answer besides.
const LogLimit = 1 << 20

// AppendLog records a piece of a request's log that begins at offset in the
// whole. A piece that is there already, or in part, adds what is new in it. One
// that would leave a gap is a Conflict: the sender says it again from where the
// record ends.
func AppendLog(tx *db.Tx, request string, offset int64, text string) error {
	if offset < 0 {
		return fault.New(fault.Invalid, "a piece of the log of request %q begins at %d", request, offset)
	}
	if _, err := Request(tx, request); err != nil {
		return err
	}
	have, _, err := db.One(tx, db.Number, `SELECT received FROM log WHERE request = $1`, request)
	if err != nil {
		return err
	}
	end := offset + int64(len(text))
	if offset > have {
		return fault.New(fault.Conflict, "a piece of the log of request %q begins at %d, and the record ends at %d", request, offset, have)
	}
	if end <= have {
		return nil
	}
	_, err = tx.Exec(`INSERT INTO log (request, received) VALUES ($1, $2)
		ON CONFLICT (request) DO UPDATE SET received = excluded.received`, request, end)
	if err != nil || have >= LogLimit {
		return err
	}
	fresh := text[have-offset:]
	fresh = fresh[:min(int64(len(fresh)), LogLimit-have)]
	_, err = tx.Exec(`INSERT INTO log_piece (request, start, piece) VALUES ($1, $2, $3)`, request, have, readable(fresh))
	return err
}

// readable is text of the same length without what a database refuses, so that
// the offsets of what follows stay what they are.
func readable(text string) string {
	if utf8.ValidString(text) && !strings.Contains(text, "\x00") {
		return text
	}
	b := []byte(text)
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == 0 || (r == utf8.RuneError && size == 1) {
			b[i] = '?'
		}
		i += size
	}
	return string(b)
}

// Log is what is recorded of a request's log, and whether that is all of it.
func Log(tx *db.Tx, request string) (text string, complete bool, err error) {
	pieces, err := db.All(tx, db.Text, `SELECT piece FROM log_piece WHERE request = $1 ORDER BY start`, request)
	if err != nil {
		return "", false, err
	}
	text = strings.Join(pieces, "")
	size, answered, err := db.One(tx, db.Number, `SELECT log_size FROM answer WHERE request = $1`, request)
	if err == nil && !answered {
		_, err = Request(tx, request)
	}
	return text, answered && int64(len(text)) == size, err
}
