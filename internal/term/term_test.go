package term

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"noxmesh/internal/fault"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares with testdata/NAME, where escapes stand as they would be sent.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	wanted, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(wanted), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// screen is a Term that writes both ways into one buffer, as a person sees it.
func screen() (*Term, *bytes.Buffer) {
	var b bytes.Buffer
	return &Term{Name: "mesh", Out: &b, Err: &b}, &b
}

func fleet() Table {
	table := Table{Columns: []Column{
		{Head: "NODE"}, {Head: "STATE"}, {Head: "FILES", Right: true}, {Head: "SAYS", Prose: true}, {Head: "BUILD"},
	}}
	table.Row(Text("alpha"), Good.Cell("applied"), Text("12"), Text(""), Text("4f1c9b20aa31"))
	table.Row(Text("beta"), Bad.Cell("failed, stuck"), Text("7"),
		Text("write \"/srv/site/index.html\": no space left on device, and the words go on for longer than anybody reads"), Text("4f1c9b20aa31"))
	table.Row(Text("gamma-with-a-long-name.example"), Wait.Cell("outstanding"), Text("10240"), Text("last seen 3 min ago"))
	table.Row(Text("δέλτα"), Faint.Cell("never told"), Text("0"), Text("漢字の説明はとても長くて、狭い端末には入らないのです"), Text("0000aaaa1111"))
	return table
}

func TestTable(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*Term){
		"table-pipe":   func(*Term) {},
		"table-colour": func(s *Term) { s.Colour, s.Width = true, 100 },
		"table-80":     func(s *Term) { s.Width = 80 },
		"table-40":     func(s *Term) { s.Width = 40 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, out := screen()
			set(s)
			if err := s.Table(fleet()); err != nil {
				t.Fatal(err)
			}
			golden(t, name, out.String())
		})
	}
}

func TestTableWithoutRowsSaysNothing(t *testing.T) {
	t.Parallel()
	s, out := screen()
	if err := s.Table(Table{Columns: []Column{{Head: "NODE"}}}); err != nil || out.Len() > 0 {
		t.Errorf("wrote %q, %v", out, err)
	}
}

// Ids survive any width, and a table that can fit does.
func TestTableNeverCutsAnID(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, out := screen()
		s.Width = rapid.IntRange(1, 120).Draw(t, "width")
		table := Table{Columns: []Column{{Head: "ID"}, {Head: "SAYS", Prose: true}, {Head: "ALSO", Prose: true}}}
		ids := rapid.SliceOfN(rapid.StringMatching(`[a-z0-9-]{1,40}`), 1, 5).Draw(t, "ids")
		longest := 0
		for _, id := range ids {
			longest = max(longest, len(id))
			table.Row(Text(id), Text(rapid.String().Draw(t, "says")), Text(rapid.String().Draw(t, "also")))
		}
		if err := s.Table(table); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != len(ids)+1 {
			t.Fatalf("%d lines for %d rows: %q", len(lines), len(ids), out)
		}
		fits := max(longest, 2)+2*len(gap)+2*shortest <= s.Width
		for i, line := range lines {
			if i > 0 && !strings.HasPrefix(line+" ", ids[i-1]+" ") {
				t.Errorf("%q lost its id %q", line, ids[i-1])
			}
			if fits && columns(line) > s.Width {
				t.Errorf("%q takes %d of %d columns", line, columns(line), s.Width)
			}
		}
	})
}

func TestWords(t *testing.T) {
	t.Parallel()
	err := fault.Add(fault.New(fault.Invalid, `line 12: unknown field "provide"`).With(`write "provides", or remove it`),
		"read manifest of %q", "dns")
	hostile := fault.New(fault.Unavailable, "ask forge: \x1b]0;owned\x07\x1b[2Jall is well\r\nmesh: applied on 3").With("\u202etxt.exe")
	t.Run("person", func(t *testing.T) {
		t.Parallel()
		s, out := screen()
		s.Note("looking at %d modules", 3)
		out.WriteString("-- " + string(rune('0'+s.Fail(err))) + "\n")
		out.WriteString("-- " + string(rune('0'+s.Fail(hostile))) + "\n")
		s.Note("two\nlines")
		golden(t, "words", out.String())
	})
	t.Run("json", func(t *testing.T) {
		t.Parallel()
		s, out := screen()
		s.JSON = true
		s.Note("left out")
		s.Hint("left out")
		s.Progress("left out")
		s.Fail(err)
		s.Fail(hostile)
		s.Fail(errors.New("plain"))
		golden(t, "words-json", out.String())
	})
}

func TestResultIsJSONThatATerminalMayShow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"\x1b[2J", "\u009b2J", "\u202e", "<a&b>", "\u2028"})).Draw(t, "text")
		s, out := screen()
		if err := s.Result(map[string]string{"says": text}); err != nil {
			t.Fatal(err)
		}
		if c := strings.TrimSpace(out.String()); Clean(strings.ReplaceAll(c, "\n", "")) != strings.ReplaceAll(c, "\n", "") {
			t.Errorf("sent %q", out)
		}
		var back map[string]string
		if err := json.Unmarshal(out.Bytes(), &back); err != nil || back["says"] != text {
			t.Errorf("%q came back as %q, %v", text, back["says"], err)
		}
	})
}

func TestProgressStandsBelowWords(t *testing.T) {
	t.Parallel()
	s, out := screen()
	s.Live, s.Edge = true, 30
	s.Progress("building %s", "site")
	s.Note("beta answers")
	s.Progress("building site: a line that is longer than the terminal is wide")
	s.Done()
	s.Note("done")
	golden(t, "progress", out.String())

	s, out = screen()
	s.Progress("nobody is there to see it")
	s.Done()
	if out.Len() > 0 {
		t.Errorf("without a terminal, progress wrote %q", out)
	}
}

func TestPaintOnlyWithColour(t *testing.T) {
	t.Parallel()
	s, _ := screen()
	if got := s.Paint(Bad, "failed\x1b[0m"); got != `failed\x1b[0m` {
		t.Errorf("without colour: %q", got)
	}
	s.Colour = true
	if got := s.Paint(Bad, "failed"); got != "\x1b[31mfailed\x1b[0m" {
		t.Errorf("with colour: %q", got)
	}
	if got := s.Paint(Plain, "word"); got != "word" {
		t.Errorf("plain: %q", got)
	}
}

func TestOpenOnAFileIsNoTerminal(t *testing.T) {
	t.Parallel()
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := Open("mesh", f, f, func(string) string { return "" })
	if s.Colour || s.Live || s.Width != 0 {
		t.Errorf("a file is taken for a terminal: colour %v, live %v, width %d", s.Colour, s.Live, s.Width)
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	for in, wanted := range map[string]string{
		"plain ÄÖ 漢字 🚀":                   "plain ÄÖ 漢字 🚀",
		"\x1b]0;title\x07":                `\x1b]0;title\x07`,
		"\x1b[31mred\x1b[0m":              `\x1b[31mred\x1b[0m`,
		"\u009b2J":                        `\x9b2J`,
		"a\rb\nc\td":                      `a\rb\nc\td`,
		"bad \xff\xc3( utf":               `bad \xff\xc3( utf`,
		"\u202eevil\u2066\u200b\ufeff":    `\u202eevil\u2066\u200b\ufeff`,
		"\x00\x7f":                        `\x00\x7f`,
		"👩\u200d🚀 keeps what joins emoji": "👩\u200d🚀 keeps what joins emoji",
	} {
		if got := Clean(in); got != wanted {
			t.Errorf("Clean(%q) = %q, want %q", in, got, wanted)
		}
	}
	if got := CleanText("a\n\tb\x1b[2J\r\n"); got != "a\n\tb\\x1b[2J\\r\n" {
		t.Errorf("CleanText = %q", got)
	}
}

func FuzzClean(f *testing.F) {
	for _, seed := range []string{"", "a", "\x1b[2J", "\xff", "\u202e", "漢\u0301", "\u009b", "a\nb"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Clean(s)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, unsafe) {
			t.Errorf("Clean(%q) = %q, which a terminal would obey", s, got)
		}
		if Clean(got) != got {
			t.Errorf("Clean is not done after once: %q, %q", got, Clean(got))
		}
		for room := range 12 {
			if c := cut(got, room); columns(c) > room {
				t.Errorf("cut(%q, %d) = %q takes %d", got, room, c, columns(c))
			}
		}
	})
}

func TestExit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want int
	}{
		"nothing":     {nil, Answered},
		"invalid":     {fault.Add(fault.New(fault.Invalid, "x"), "y"), Usage},
		"unavailable": {fault.New(fault.Unavailable, "x"), CouldNot},
		"denied":      {fault.New(fault.Denied, "x"), CouldNot},
		"plain":       {errors.New("x"), CouldNot},
	} {
		if got := Exit(c.err); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	for _, status := range []string{"0", "1", "2", "3", "4"} {
		if !strings.Contains(ExitHelp(), "\n  "+status+"  ") {
			t.Errorf("the help does not say what %s means", status)
		}
	}
}

func TestSpans(t *testing.T) {
	t.Parallel()
	for d, wanted := range map[time.Duration]string{
		0:                              "just now",
		999 * time.Millisecond:         "just now",
		time.Second:                    "1 s ago",
		59999 * time.Millisecond:       "59 s ago",
		3*time.Minute + 59*time.Second: "3 min ago",
		47*time.Hour + 59*time.Minute:  "47 h ago",
		48 * time.Hour:                 "2 days ago",
		400 * 24 * time.Hour:           "400 days ago",
		-500 * time.Millisecond:        "just now",
		-3 * time.Minute:               "in 3 min",
	} {
		if got := Ago(d); got != wanted {
			t.Errorf("Ago(%v) = %q, want %q", d, got, wanted)
		}
	}
	if got := Span(-650_000 * time.Hour); got != "0 s" {
		t.Errorf("what begins in 74 years has lasted %q", got)
	}
	for n, wanted := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 3 << 30: "3.0 GiB", 1<<63 - 1: "8.0 EiB"} {
		if got := Bytes(n); got != wanted {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, wanted)
		}
	}
}
