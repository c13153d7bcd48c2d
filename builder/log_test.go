package builder

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"noxmesh/identity"
)

// Whatever is written, in whatever pieces: the log is UTF-8 and bounded, what
// was read of it stays as it was read, and the pieces are the whole.
func TestLogbookProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		log := &logbook{}
		var read strings.Builder
		for range rapid.IntRange(0, 30).Draw(t, "writes") {
			piece := rapid.OneOf(
				rapid.SliceOfN(rapid.Byte(), 0, 40),
				rapid.Map(rapid.String(), func(s string) []byte { return []byte(s) }),
				rapid.Map(rapid.IntRange(0, 200_000), func(n int) []byte { return bytes.Repeat([]byte("ä"), n) }),
				rapid.Map(rapid.IntRange(0, 20_000), func(n int) []byte { return bytes.Repeat([]byte("a line\n"), n) }),
			).Draw(t, "piece")
			if n, err := log.Write(piece); n != len(piece) || err != nil {
				t.Fatalf("wrote %d of %d, %v", n, len(piece), err)
			}
			if rapid.Bool().Draw(t, "step") {
				log.Step("build", "")
			}
			read.WriteString(log.From(int64(read.Len()), rapid.IntRange(4, 100_000).Draw(t, "size")))
		}
		log.Close()
		for {
			part := log.From(int64(read.Len()), 64<<10)
			if part == "" {
				break
			}
			if !utf8.ValidString(part) {
				t.Fatal("a part is no UTF-8")
			}
			read.WriteString(part)
		}
		if read.String() != string(log.Text()) {
			t.Fatal("the parts are not the whole")
		}
		if n := len(log.Text()); n > logHead+logTail+100 {
			t.Fatalf("the log has %d bytes", n)
		}
	})
}

func TestALongLogKeepsItsHeadAndItsTail(t *testing.T) {
	t.Parallel()
	log := &logbook{}
	var all bytes.Buffer
	for i := range 400_000 {
		line := fmt.Sprintf("line %d\n", i)
		all.WriteString(line)
		if _, err := log.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	log.Close()
	text := string(log.Text())
	if !strings.HasPrefix(text, "line 0\nline 1\n") || !strings.HasSuffix(text, "line 399998\nline 399999\n") {
		t.Error("head or tail is gone")
	}
	before, rest, ok := strings.Cut(text, "[")
	notice, after, _ := strings.Cut(rest, "\n")
	var cut int
	if _, err := fmt.Sscanf(notice, "%d bytes of the log are left out here]", &cut); !ok || err != nil {
		t.Fatalf("it does not say what is left out: %q", notice)
	}
	if cut != all.Len()-len(before)-len(after) {
		t.Errorf("it says that %d bytes are left out, and %d are", cut, all.Len()-len(before)-len(after))
	}
	if !strings.HasSuffix(before, "\n") || !strings.HasPrefix(after, "line ") {
		t.Error("it is cut inside a line")
	}
}

func TestLogbookSaysWhatWasRun(t *testing.T) {
	t.Parallel()
	log := &logbook{}
	log.Step("build", "")
	log.Command([]string{"sh", "-c", "echo 'a b' $X", ""})
	if _, err := log.Write([]byte("no line end")); err != nil {
		t.Fatal(err)
	}
	if step, _ := log.Now(); step != "build" {
		t.Errorf("it is at %q", step)
	}
	log.began = time.Now().Add(-1234 * time.Millisecond)
	log.Done("build")
	log.Step("test", "")
	log.began = time.Now().Add(-90 * time.Second)
	log.Close()
	want := "== build\n$ sh -c 'echo '\\''a b'\\'' $X' ''\nno line end\n== build took 1.2s\n== test\n"
	if step, elapsed := log.Now(); step != "" || elapsed != 0 {
		t.Errorf("after its end it is at %q for %s", step, elapsed)
	}
	steps := log.Steps()
	if len(steps) != 2 || steps[0].Step != "build" || steps[0].Took/1000 != 1 || steps[1].Step != "test" || steps[1].Took/1000 != 90 {
		t.Errorf("the steps took %v", steps)
	}
	if got := string(log.Text()); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestLastLines(t *testing.T) {
	t.Parallel()
	l := &lastBytes{w: &logbook{}}
	for i := range 10_000 {
		fmt.Fprintf(l, "line %d \xff\n", i)
	}
	got := l.lines()
	if !strings.HasPrefix(got, "line ") || !strings.HasSuffix(got, "line 9999 \uFFFD") || len(got) > lastSize || !utf8.ValidString(got) {
		t.Errorf("%q", got)
	}
}

// What a command says of the builder's own secrets is not in the log, however it
// comes: at once, in pieces, in a line of the builder's own.
func TestALogHidesTheBuildersSecrets(t *testing.T) {
	t.Parallel()
	secret := identity.NewSecret()
	log := &logbook{hides: []identity.Secret{{}, secret}}
	fmt.Fprintf(log, "it is %s, twice: %s\n", secret.Reveal(), secret.Reveal())
	for _, c := range secret.Reveal() {
		fmt.Fprint(log, string(c))
	}
	log.Note("end %s", secret.Reveal())
	log.Close()
	if got, want := string(log.Text()), "it is ***, twice: ***\n***\nend ***\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
