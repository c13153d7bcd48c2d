package javascript_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// written is code that is written along with what it asks for: the model knows it
// because it chose it.
type written struct {
	ts    bool
	names []string
}

// name is a new name, and notes that it is asked for.
func (w *written) name() string {
	w.names = append(w.names, fmt.Sprintf("n%03d", len(w.names)))
	return w.names[len(w.names)-1]
}

// expression is one; it never begins with a bracket and ends as an operand does.
func (w *written) expression(t *rapid.T, deep int) string {
	inner := func() string { return w.expression(t, deep-1) }
	kinds := 22
	if deep <= 0 {
		kinds = 9
	}
	switch rapid.IntRange(0, kinds).Draw(t, "kind") {
	case 0:
		return "require('" + w.name() + "')"
	case 1:
		return "import(/*)*/\"" + w.name() + "\", {})"
	case 2:
		return "require\n.resolve(`" + w.name() + "`)"
	case 3:
		return `"require('no')\"'"`
	case 4:
		return "typeof /[/'\"`]\\/(import('no'))/g.b"
	case 5:
		return "a.import('no')"
	case 6:
		return "`import 'no' ' \\` $ {`"
	case 7:
		return "b++"
	case 8, 9:
		return ".5 /* ' */ // import 'no'\n / 1"
	case 10:
		return "f(" + inner() + ", ..." + inner() + ",)"
	case 11:
		return "`'${" + inner() + "}\"${ {a: " + inner() + "} }`"
	case 12:
		return "f(x => {" + w.statements(t, deep-1) + "}, y => z)"
	case 13:
		return "async function* () {" + w.statements(t, deep-1) + "}.z"
	case 14:
		return "g[" + inner() + "] / " + inner()
	case 15:
		return "a ? " + inner() + " : " + inner()
	case 16:
		return "void {import: " + inner() + ", async *[" + inner() + "](a = " + inner() + ") {" + w.statements(t, deep-1) + "}, get require() {}}"
	case 17:
		return "new class extends f(" + inner() + ") { a = " + inner() + "; static {" + w.statements(t, deep-1) + "} #b() {} }"
	case 18:
		return "(" + inner() + ")"
	case 19:
		return "await " + inner() + " < " + inner() + " > 1"
	}
	if w.ts {
		return "f<{a: typeof import('" + w.name() + "')}[]>(" + inner() + " as (a: 'it\\'s') => `b${C}`)!"
	}
	return "<>it's <a.b c-d='\"' e={" + inner() + "}>{" + inner() + "} import 'no'</a.b></>"
}

func (w *written) statements(t *rapid.T, deep int) string {
	var all strings.Builder
	for range rapid.IntRange(0, 3).Draw(t, "statements") {
		all.WriteString(w.statement(t, deep))
	}
	return all.String()
}

func (w *written) statement(t *rapid.T, deep int) string {
	end := rapid.SampledFrom([]string{";", "\n;", "// import 'no'\n", "/*\n*/"}).Draw(t, "end")
	inner := w.expression(t, deep-1)
	switch rapid.IntRange(0, 8).Draw(t, "statement") {
	case 0:
		return "if (" + inner + ") /'/.test(b)" + end + "else {}"
	case 1:
		return "for (const {a = " + inner + "} of b) {}"
	case 2:
		return "label: while (" + inner + ") { break label }"
	case 3:
		return "switch (a) { case " + inner + ": {} default: b" + end + "}"
	case 4:
		return "return " + strings.TrimPrefix(inner, "\n") + end
	case 5:
		return "try { throw " + inner + end + "} catch {} finally { }"
	case 6:
		return "function c(d = " + inner + ") { }"
	case 7:
		if w.ts {
			return "interface A { b: import('" + w.name() + "').C<D>; (e): f }\n{}/'/.test(" + inner + ")" + end
		}
	}
	return "let e = " + inner + end
}

// TestModel compares what is read with what was written.
func TestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := &written{ts: rapid.Bool().Draw(t, "ts")}
		file := map[bool]string{true: "a.ts", false: "a.js"}[w.ts]
		var text strings.Builder
		for range rapid.IntRange(1, 5).Draw(t, "parts") {
			switch rapid.IntRange(0, 3).Draw(t, "part") {
			case 0:
				text.WriteString("import a, {b as default} from '" + w.name() + "'\n")
			case 1:
				text.WriteString("export * as c from '" + w.name() + "';")
			default:
				text.WriteString(w.statement(t, 4))
			}
		}
		var got []string
		for _, each := range read("", map[string]string{file: text.String()}) {
			_, name, _ := strings.Cut(each, " ")
			got = append(got, name)
		}
		slices.Sort(got)
		if d := cmp.Diff(w.names, got); d != "" {
			t.Fatalf("%s\n%s", text.String(), d)
		}
	})
}
