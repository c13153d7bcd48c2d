package deliverystore

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"noxmesh/internal/db"
	"noxmesh/internal/fault"
)

// LogLimit is how much of a log the record keeps: the beginning, which is all that
// a builder makes of one. It says the last lines of a failure in its answer besides.
const LogLimit = 1<<20 + 4<<10

// AppendLog records a piece of a request's log that begins at offset in the
// whole. A piece that is there already, or in part, adds what is new in it. One
// that would leave a gap is a Conflict: the sender says it again from where the
// record ends.
func AppendLog(tx *db.Tx, request string, offset int64, text string) error {
	if offset < 0 {
		return fault.New(fault.Invalid, "a piece of the log of request %q begins at %d", request, offset)
	}
	have, there, err := db.One(tx, db.Number, `SELECT coalesce((SELECT received FROM log WHERE request = r.id), 0) FROM request r WHERE id = $1`, request)
	if err != nil {
		return err
	}
	if !there {
		return noRequest(request)
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

// LogText is what is recorded of a log.
type LogText struct {
	Text     string
	Complete bool      // the request has ended: nothing will follow
	Missing  int64     // bytes at its end that are not recorded, where its builder has said how long it is
	Removed  time.Time // when retention has removed it; zero: it did not
}

// Log is what is recorded of a request's log.
func Log(tx *db.Tx, request string) (l LogText, err error) {
	if l.Text, err = logText(tx, request); err != nil {
		return l, err
	}
	r, err := Request(tx, request)
	if err != nil {
		return l, err
	}
	l.Complete = r.State == Done || r.State == Withdrawn
	removed, _, err := db.One(tx, db.Number, `SELECT removed_at FROM log WHERE request = $1`, request)
	if l.Removed = db.Time(removed); err != nil || removed > 0 {
		return l, err
	}
	size, answered, err := db.One(tx, db.Number, `SELECT log_size FROM answer WHERE request = $1`, request)
	if answered {
		l.Missing = max(0, size-int64(len(l.Text)))
	}
	return l, err
}

// logText is a log as far as it is recorded: what was put in one piece, and the
// pieces that came later.
func logText(tx *db.Tx, request string) (string, error) {
	packed, _, err := db.One(tx, bytesOf, `SELECT packed FROM log_whole WHERE request = $1`, request)
	if err != nil {
		return "", err
	}
	text, err := unpackLog(request, packed)
	if err != nil {
		return "", err
	}
	pieces, err := db.All(tx, db.Text, `SELECT piece FROM log_piece WHERE request = $1 ORDER BY start`, request)
	return text + strings.Join(pieces, ""), err
}

func bytesOf(r db.Row) (b []byte, err error) {
	err = r.Scan(&b)
	return b, err
}

// settleLog puts the log of a request that has ended in one piece, compressed.
func settleLog(tx *db.Tx, request string) error {
	text, err := logText(tx, request)
	if err != nil || text == "" {
		return err
	}
	packed, err := packLog(text)
	if err != nil {
		return fault.Wrap(fault.Broken, err, "compress the log of request %q", request)
	}
	_, err = tx.Exec(`INSERT INTO log_whole (request, packed) VALUES ($1, $2)
		ON CONFLICT (request) DO UPDATE SET packed = excluded.packed`, request, packed)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`DELETE FROM log_piece WHERE request = $1`, request)
	return err
}

// packers are compressors that have nothing to do: to make one costs more than to
// compress a short log.
var packers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }} //nolint:gochecknoglobals // what is in it is room

func packLog(text string) ([]byte, error) {
	var b bytes.Buffer
	w, _ := packers.Get().(*gzip.Writer)
	defer packers.Put(w)
	w.Reset(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// unpackLog is what packLog packed, and no more than a log may have.
func unpackLog(request string, packed []byte) (string, error) {
	if len(packed) == 0 {
		return "", nil
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return "", fault.Wrap(fault.Broken, err, "read the log of request %q", request)
	}
	text, err := io.ReadAll(io.LimitReader(r, LogLimit))
	if err != nil {
		return "", fault.Wrap(fault.Broken, err, "read the log of request %q", request)
	}
	return string(text), nil
}
