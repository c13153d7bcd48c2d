package keep

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"noxmesh/document"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
	"noxmesh/report"
)

const latestFile = "latest"

// Latest is the last report that said something new, and whether the controller
// has said that it is committed.
type Latest struct {
	Report    report.Report
	Says      document.Digest // what it says, by whatever its writer compares
	Committed bool
}

// Standing is what is known of the latest report without reading it.
type Standing struct {
	Sequence  int64
	Says      document.Digest
	Committed bool
}

// Latest is the last report, or fault.NotFound.
func (f *Folder) Latest() (Latest, error) {
	var whole bytes.Buffer
	if err := f.load(latestFile, &whole); err != nil {
		return Latest{}, err
	}
	first, b, _ := bytes.Cut(whole.Bytes(), []byte("\n"))
	s, err := f.standing(string(first))
	if err != nil {
		return Latest{}, err
	}
	r, err := document.Decode[report.Report](latestFile, b, limits())
	if err != nil {
		return Latest{}, f.damaged(latestFile, err)
	}
	return Latest{Report: r, Says: s.Says, Committed: s.Committed}, nil
}

// Standing is that of the last report, or the zero one where there has been none.
func (f *Folder) Standing() (Standing, error) {
	var first head
	err := f.load(latestFile, &first)
	if fault.KindOf(err) == fault.NotFound {
		return Standing{}, nil
	}
	if err != nil {
		return Standing{}, err
	}
	line, _, _ := strings.Cut(string(first), "\n")
	return f.standing(line)
}

// head is no more than the beginning of what is written to it: its first line, and more.
type head []byte

// Grow is for whoever keeps all of it.
func (*head) Grow(int) {}

func (h *head) Write(b []byte) (int, error) {
	const most = 256
	*h = append(*h, b[:min(len(b), max(most-len(*h), 0))]...)
	return len(b), nil
}

func (f *Folder) standing(first string) (Standing, error) {
	w := words{rest: first + "\n"}
	committed := w.word()
	s := Standing{Committed: committed == "committed", Sequence: w.number(), Says: document.Digest(w.last())}
	if w.bad || !s.Committed && committed != "untold" || s.Says != "" && !s.Says.Valid() {
		return Standing{}, f.damaged(latestFile, fault.New(fault.Invalid, "its first line is not that of a report"))
	}
	return s, nil
}

// SaveLatest makes it durable.
func (f *Folder) SaveLatest(l Latest) error {
	r, err := document.Canonical(l.Report)
	if err != nil {
		return err
	}
	b := make([]byte, 0, 128+len(r))
	if l.Committed {
		b = append(b, "committed "...)
	} else {
		b = append(b, "untold "...)
	}
	b = append(strconv.AppendInt(b, l.Report.Sequence, 10), ' ')
	b = append(append(b, l.Says...), '\n')
	return f.write(latestFile, append(b, r...))
}

// Looked notes that the machine was looked at, and that there was nothing else to
// say than what the latest report says. It is for people alone, and not durable.
func (f *Folder) Looked(at time.Time) {
	_ = effect.Do("keep.latest.touch", func() error { return f.root.Touch(latestFile, at) }) // for people alone
}

// LastLook is when the machine was last looked at; the zero time where it never was.
func (f *Folder) LastLook() time.Time {
	info, err := f.root.Lstat(latestFile)
	if err != nil {
		return time.Time{}
	}
	return info.Modified()
}
