package keep

import (
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

const recordFile = "record"

// Kind is what one thing on the machine is. It is a number, as Origin and Phase
// are, because a record holds each of them for every file.
type Kind uint8

// The kinds. The zero Kind is "nothing".
const (
	File Kind = iota + 1
	Directory
	Link
)

// String is the kind's word, in a record and for people.
func (k Kind) String() string { return wordOf(k, "", "file", "directory", "link") }

// Thing is one path of the machine, as it should be.
type Thing struct {
	Path   string
	Digest document.Digest // of a file; keyed where there are secrets in it, see Keyed
	Size   int64           // of a file
	Target string          // of a link
	Mode   fs.FileMode     // of a file or a directory
	Owner  Account         // whose it is
	Group  Account
	Kind   Kind
}

// Origin is whose a thing is.
type Origin uint8

// The origins: what the host made it removes when it is no longer declared;
// what it took over (it was there before) it releases, and never removes.
const (
	Made Origin = iota + 1
	TakenOver
)

// String is the origin's word, in a record and for people.
func (o Origin) String() string { return wordOf(o, "", "made", "taken-over") }

// Phase is how far the host is with a thing.
type Phase uint8

// The phases. Making and Changing are written before the effect. A thing that is
// being made and is not what was meant is somebody else's.
const (
	Done     Phase = iota + 1 // read back
	Making                    // the host had never made or changed anything here before
	Changing                  // it was the host's already
)

// String is the phase's word, in a record and for people.
func (p Phase) String() string { return wordOf(p, "", "done", "making", "changing") }

// wordOf is the n-th of the words.
func wordOf[N ~uint8](n N, words ...string) string {
	if int(n) < len(words) {
		return words[n]
	}
	return "unknown"
}

// named is which of these has this word; 0 where none has.
func named[N interface {
	~uint8
	String() string
}](word string, all ...N) N {
	for _, n := range all {
		if n.String() == word {
			return n
		}
	}
	return 0
}

// Entry is one line of the record.
type Entry struct {
	Thing  Thing
	Real   string // where the path truly led, where links stood on the way; empty where none did
	ID     string // of the resource; empty for a directory that was only made because something is in it
	Was    Kind   // while changing: what it was before, where that is another kind
	Origin Origin
	Phase  Phase
}

// Hold is one line of the record about something that is at no path: a user, a service.
type Hold struct {
	Subject string // "user board"
	ID      string // of the resource
	Note    string // what its type must know of it later, in that type's words
	Origin  Origin
	Phase   Phase
}

// Record is what the host has made or taken over, by path or by subject; and of
// each resource that was read back, which one.
type Record struct {
	Entries *Table
	Holds   map[string]Hold
	Done    map[string]document.Digest // by resource id: the digest of the resource that was last read back
}

// NewRecord is the record of a host that has done nothing yet.
func NewRecord() Record {
	return Record{Entries: NewTable(0), Holds: map[string]Hold{}, Done: map[string]document.Digest{}}
}

// Record is the record on disk, or an empty one where there has never been any.
func (f *Folder) Record() (Record, error) {
	text, err := f.text(recordFile)
	if fault.KindOf(err) == fault.NotFound {
		return NewRecord(), nil
	}
	if err != nil {
		return Record{}, err
	}
	r, err := DecodeRecord(text)
	if err != nil {
		return Record{}, f.damaged(recordFile, err)
	}
	f.change(r)
	return r, nil
}

// SaveRecord makes the record durable.
func (f *Folder) SaveRecord(r Record) error { return f.write(recordFile, r.Encode()) }

// Encode is the record as lines, sorted. It is no JSON because it is read at
// every start and holds every file of every archive.
func (r Record) Encode() []byte {
	b := make([]byte, 0, 256*r.Entries.Len())
	for _, id := range slices.Sorted(maps.Keys(r.Done)) {
		b = append(b, "done "...)
		b = strconv.AppendQuote(b, id)
		b = append(append(append(b, ' '), r.Done[id]...), '\n')
	}
	for e := range r.Entries.Sorted() {
		b = e.append(b)
	}
	for _, subject := range slices.Sorted(maps.Keys(r.Holds)) {
		b = r.Holds[subject].append(b)
	}
	return b
}

func (h Hold) append(b []byte) []byte {
	b = append(append(append(b, "hold "...), h.Origin.String()...), ' ')
	b = append(append(b, h.Phase.String()...), ' ')
	b = append(strconv.AppendQuote(b, h.Subject), ' ')
	b = append(strconv.AppendQuote(b, h.ID), ' ')
	return append(strconv.AppendQuote(b, h.Note), '\n')
}

func (e Entry) append(b []byte) []byte {
	b = append(b, "thing "...)
	for _, word := range []string{e.Origin.String(), e.Phase.String(), orDash(e.Was.String()), e.Thing.Kind.String()} {
		b = append(append(b, word...), ' ')
	}
	b = append(e.Thing.appendMode(b), ' ')
	b = append(append(b, orDash(string(e.Thing.Digest))...), ' ')
	b = append(strconv.AppendInt(b, e.Thing.Size, 10), ' ')
	b = append(strconv.AppendQuote(b, e.ID), ' ')
	b = append(strconv.AppendQuote(b, e.Thing.Path), ' ')
	b = append(strconv.AppendQuote(b, e.Real), ' ')
	return append(strconv.AppendQuote(b, e.Thing.Target), '\n')
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// DecodeRecord reads what Encode wrote, and nothing else.
func DecodeRecord(text string) (Record, error) {
	done := strings.Count(text, "\ndone ")
	r := Record{
		Entries: NewTable(strings.Count(text, "\nthing ") + 1), Holds: map[string]Hold{},
		Done: make(map[string]document.Digest, done+1),
	}
	n := 0
	for line := range strings.Lines(text) {
		n++
		if err := r.line(line); err != nil {
			return Record{}, fault.Add(err, "line %d", n)
		}
	}
	return r, nil
}

func (r Record) line(line string) error {
	w := words{rest: line}
	switch kind := w.word(); kind {
	case "done":
		id := w.quoted()
		digest := document.Digest(w.last())
		if w.bad || !digest.Valid() {
			return fault.New(fault.Invalid, "not a resource that was read back")
		}
		r.Done[id] = digest
		return nil
	case "thing":
		e := w.entry()
		if w.bad || !e.valid() {
			return fault.New(fault.Invalid, "not a thing of the record")
		}
		before := r.Entries.Len()
		if r.Entries.Put(e); r.Entries.Len() == before {
			return fault.New(fault.Invalid, "%q stands there twice", document.Short(e.Thing.Path))
		}
		return nil
	case "hold":
		h := w.hold()
		if w.bad || h.Origin == 0 || h.Phase == 0 || h.Subject == "" {
			return fault.New(fault.Invalid, "not a hold of the record")
		}
		if _, ok := r.Holds[h.Subject]; ok {
			return fault.New(fault.Invalid, "%q stands there twice", document.Short(h.Subject))
		}
		r.Holds[h.Subject] = h
		return nil
	default:
		return fault.New(fault.Invalid, "%q is no line of a record", document.Short(kind))
	}
}

// Place is where the thing truly is.
func (e Entry) Place() string {
	if e.Real != "" {
		return e.Real
	}
	return e.Thing.Path
}

func (e Entry) valid() bool {
	t := e.Thing
	return strings.HasPrefix(t.Path, "/") && (e.Real == "" || strings.HasPrefix(e.Real, "/")) && t.modeFits() && t.Size >= 0 &&
		e.Origin != 0 && e.Phase != 0 &&
		t.Kind != 0 && t.digestFits()
}

// words reads a line from left to right; bad stays true after the first fault.
type words struct {
	rest string
	bad  bool
}

func (w *words) word() string {
	word, rest, ok := strings.Cut(w.rest, " ")
	if !ok {
		w.bad = true
	}
	w.rest = rest
	return word
}

func (w *words) optional() string {
	if s := w.word(); s != "-" {
		return s
	}
	return ""
}

func (w *words) last() string {
	word, ok := strings.CutSuffix(w.rest, "\n")
	if !ok {
		w.bad = true
	}
	w.rest = ""
	return word
}

func (w *words) quoted() string {
	s, n, ok := unquoted(w.rest)
	if !ok || len(w.rest) == n {
		w.bad = true
		return ""
	}
	w.rest = w.rest[n:]
	if w.rest[0] == ' ' {
		w.rest = w.rest[1:]
	}
	return s
}

// unquoted is the string that text begins with, and how much of text it takes.
func unquoted(text string) (s string, n int, ok bool) {
	if text == "" || text[0] != '"' {
		return "", 0, false
	}
	if end := strings.IndexByte(text[1:], '"'); end >= 0 {
		if s = text[1 : 1+end]; plain(s) {
			return s, end + 2, true
		}
	}
	q, err := strconv.QuotedPrefix(text)
	if err != nil {
		return "", 0, false
	}
	s, err = strconv.Unquote(q)
	return s, len(q), err == nil
}

// plain reports whether s stands for itself between quotes.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '\\' {
			return false
		}
	}
	return true
}

func (w *words) number() int64 {
	n, err := strconv.ParseUint(w.word(), 10, 63)
	if err != nil {
		w.bad = true
	}
	return int64(n)
}

func (w *words) kind(word string) Kind {
	k := named(word, File, Directory, Link)
	w.bad = w.bad || k == 0
	return k
}

func (w *words) hold() Hold {
	h := Hold{Origin: named(w.word(), Made, TakenOver), Phase: named(w.word(), Done, Changing, Making)}
	h.Subject, h.ID, h.Note = w.quoted(), w.quoted(), w.quoted()
	if w.last() != "" {
		w.bad = true
	}
	return h
}

func (w *words) entry() Entry {
	e := Entry{Origin: named(w.word(), Made, TakenOver), Phase: named(w.word(), Done, Changing, Making)}
	if was := w.optional(); was != "" {
		e.Was = w.kind(was)
	}
	e.Thing.Kind = w.kind(w.word())
	w.bad = !e.Thing.parseMode(w.word()) || w.bad
	e.Thing.Digest = document.Digest(w.optional())
	e.Thing.Size = w.number()
	e.ID = w.quoted()
	e.Thing.Path = w.quoted()
	e.Real = w.quoted()
	e.Thing.Target = w.quoted()
	if w.last() != "" {
		w.bad = true
	}
	return e
}
