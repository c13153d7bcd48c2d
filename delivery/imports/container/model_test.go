package container_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// written is a container file that is written along with what it asks for: the
// model knows it because it chose it.
type written struct {
	strings.Builder
	images []string // docker.io/library/…
	names  []string // of the stages so far
	stages int
}

// image is an image by one of the ways to write it, and notes that it is asked for.
func (w *written) image(t *rapid.T) string {
	name := rapid.SampledFrom([]string{"one", "two", "three", "four"}).Draw(t, "image")
	w.images = append(w.images, "docker.io/library/"+name)
	prefix := rapid.SampledFrom([]string{"", "docker.io/", "docker.io/library/", "library/", "index.docker.io/library/"}).Draw(t, "prefix")
	return prefix + name + rapid.SampledFrom([]string{"", ":1", ":a.b-c", "@sha256:" + strings.Repeat("0f", 32)}).Draw(t, "suffix")
}

func (w *written) source(t *rapid.T) string {
	switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); {
	case kind == 0 && len(w.names) > 0:
		return anyCase(t, rapid.SampledFrom(w.names).Draw(t, "name"))
	case kind == 1:
		return "scratch"
	default:
		return w.image(t)
	}
}

func anyCase(t *rapid.T, s string) string {
	return rapid.SampledFrom([]string{s, strings.ToUpper(s), strings.ToLower(s)}).Draw(t, "case")
}

// gap is what may stand between two words.
func gap(t *rapid.T) string {
	return rapid.SampledFrom([]string{" ", "\t", "  ", " \\\n", " \\\n# FROM five\n", " \\  \n\n  "}).Draw(t, "gap")
}

func (w *written) stage(t *rapid.T) {
	base := w.source(t)
	w.WriteString(anyCase(t, "From") + gap(t))
	if rapid.Bool().Draw(t, "platform") {
		w.WriteString("--platform=linux/amd64" + gap(t))
	}
	w.WriteString(base)
	if rapid.Bool().Draw(t, "named") {
		name := fmt.Sprintf("stage%d", w.stages)
		w.WriteString(gap(t) + anyCase(t, "as") + gap(t) + anyCase(t, name))
		w.names = append(w.names, name)
	}
	w.WriteString("\n")
	w.stages++
	for range rapid.IntRange(0, 3).Draw(t, "instructions") {
		w.within(t)
	}
}

func (w *written) within(t *rapid.T) {
	switch rapid.IntRange(0, 6).Draw(t, "instruction") {
	case 0:
		fmt.Fprintf(w, "%s%s--from=%s%sx y\n", anyCase(t, "Copy"), gap(t), w.source(t), gap(t))
	case 1:
		fmt.Fprintf(w, "COPY --from=%d x y\n", rapid.IntRange(0, w.stages-1).Draw(t, "number"))
	case 2:
		fmt.Fprintf(w, "RUN%s--mount=type=bind,from=%s,target=/a%smake\n", gap(t), w.source(t), gap(t))
	case 3:
		fmt.Fprintf(w, "RUN <<-'END' cat <<B\nFROM five\n\tEND\nCOPY --from=five x y\nB\n")
	case 4:
		fmt.Fprintf(w, "ONBUILD%sADD --link --from=%s x y\n", gap(t), w.source(t))
	case 5:
		w.WriteString("RUN echo '# FROM five' \"COPY --from=five\" && FROM five\n")
	case 6:
		w.WriteString("# FROM five\n\n   # COPY --from=five x y\n")
	}
}

func TestReadIsWhatWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := &written{}
		for range rapid.IntRange(1, 5).Draw(t, "stages") {
			w.stage(t)
		}
		slices.Sort(w.images)
		want := slices.Compact(w.images)
		var got []string
		for _, said := range read(w.String()) {
			_, name, _ := strings.Cut(said, " ")
			got = append(got, name)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("%s\n%s", w, d)
		}
	})
}

// TestFilledAsAsked checks that what is filled in is what stands there when the
// variables are written out by hand.
func TestFilledAsAsked(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		head, plain, filled := "", "", ""
		for n := range rapid.IntRange(1, 4).Draw(t, "parts") {
			part := rapid.StringMatching(`[a-z]{1,3}`).Draw(t, "part")
			name := fmt.Sprintf("V%d", n)
			switch rapid.IntRange(0, 4).Draw(t, "how") {
			case 0:
				filled += part
			case 1:
				head, filled = head+"ARG "+name+"="+part+"\n", filled+"${"+name+"}"
			case 2:
				filled += "${" + name + ":-" + part + "}"
			case 3:
				head, filled = head+"ARG "+name+"='x'\n", filled+"${"+name+":+"+part+"}${"+name+"%x}"
			case 4:
				head, filled = head+"ARG "+name+"=\""+part+".tail\"\n", filled+"${"+name+"%%.*}"
			}
			plain += part
		}
		got := read(head + "FROM " + filled)
		want := []string{fmt.Sprintf("%d docker.io/library/%s", 1+strings.Count(head, "\n"), plain)}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("%s%s\n%s", head, filled, d)
		}
	})
}
