package keep

import (
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/internal/fault"
)

// filled is a value of whose fields, and theirs, none is its zero: one that a
// plan does not carry is missed.
func filled(t testing.TB, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Struct:
		if c, ok := v.Addr().Interface().(*declaration.Command); ok {
			c.Words = []string{"a \"word\"", ""} // or a name, and never both
			return
		}
		for i := range v.NumField() {
			filled(t, v.Field(i))
		}
	case reflect.String:
		if v.Type() == reflect.TypeFor[document.Digest]() {
			v.SetString(string(document.Sum([]byte("x"))))
			return
		}
		v.SetString("a \"quoted\"\n\\ é \x00 text")
		if v.Type() == reflect.TypeFor[declaration.Type]() {
			v.SetString("file")
		}
	case reflect.Int64:
		v.SetInt(42)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			filled(t, v.Index(i))
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		filled(t, key)
		filled(t, value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(t, v.Elem())
	case reflect.Bool:
		v.SetBool(true)
	default:
		t.Fatalf("a plan does not know what a %s is", v.Type())
	}
}

func decodePlan(text string) (Plan, error) {
	p := planning{record: NewRecord()}
	if _, err := p.Write([]byte(text)); err != nil {
		return Plan{}, err
	}
	return p.plan, p.whole()
}

func TestAPlanCarriesEveryField(t *testing.T) {
	t.Parallel()
	var p Plan
	filled(t, reflect.ValueOf(&p).Elem())
	got, err := decodePlan(string(p.encode()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, got); diff != "" {
		t.Error(diff)
	}
}

func TestAPlanThatIsNotWholeIsNone(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	f := opened(t, root)
	var p Plan
	filled(t, reflect.ValueOf(&p).Elem())
	must(t, f.SavePlan(p))
	if _, err := f.Plan(NewRecord()); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, Path, planFile)
	whole, err := os.ReadFile(file)
	must(t, err)
	for _, b := range [][]byte{nil, whole[:len(whole)/2], append([]byte("x"), whole...), []byte(strings.ToUpper(string(whole)))} {
		must(t, os.WriteFile(file, b, 0o600))
		if _, err := f.Plan(NewRecord()); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%d bytes: %v", len(b), err)
		}
	}
}

// What is read quickly is read as strconv reads it.
func TestUnquotedIsAsStrconvHasIt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(
			rapid.Map(rapid.String(), strconv.Quote), rapid.StringMatching(`"[ -~\n]{0,8}"?.{0,3}`), rapid.String(),
		).Draw(t, "text")
		s, n, ok := unquoted(text)
		q, err := strconv.QuotedPrefix(text)
		want := err == nil && text[0] == '"'
		if ok != want {
			t.Fatalf("%q: %v, want %v", text, ok, want)
		}
		if !ok {
			return
		}
		if u, err := strconv.Unquote(q); err != nil || u != s || n != len(q) {
			t.Fatalf("%q: %q of %d, want %q of %d", text, s, n, u, len(q))
		}
	})
}
