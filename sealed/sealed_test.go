package sealed

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/document/documenttest"
	"noxmesh/internal/fault"
)

func newKey(t testing.TB) Key {
	t.Helper()
	k, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func board() Value {
	return Value{For: For{Mesh: "mesh0001", Node: "node0001", Module: "board", Name: "db-url"}, Version: 1, Value: []byte("hush")}
}

// What is sealed opens to what it was, whatever bytes that is, and only with the key
// and for what it was sealed for.
func TestOnlyTheOneOpensIt(t *testing.T) {
	t.Parallel()
	one, other := newKey(t), newKey(t)
	rapid.Check(t, func(rt *rapid.T) {
		v := board()
		v.Value = rapid.SliceOfN(rapid.Byte(), 1, 300).Draw(rt, "value")
		v.Version = rapid.Int64Range(1, 1<<53).Draw(rt, "version")
		text, err := Seal(one.Recipient(), v)
		if err != nil {
			rt.Fatal(err)
		}
		if again, _ := Seal(one.Recipient(), v); again == text {
			rt.Fatal("it is the same text twice")
		}
		got, err := one.Open(text, v.For)
		if err != nil || got.For != v.For || got.Version != v.Version || !bytes.Equal(got.Value, v.Value) {
			rt.Fatalf("%v %v", got, err)
		}
		if got, err := other.Open(text, v.For); err == nil || got.Value != nil {
			rt.Fatal("another key opens it")
		}
	})
}

func TestItIsBoundToWhatItIsFor(t *testing.T) {
	t.Parallel()
	k, v := newKey(t), board()
	text, err := Seal(k.Recipient(), v)
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*For){
		`it is sealed for the mesh "mesh0001", and this is "mesh0002"`: func(f *For) { f.Mesh = "mesh0002" },
		`it is sealed for the node "node0001", and this is "node0002"`: func(f *For) { f.Node = "node0002" },
		`it is sealed for the module "board", and this is "site"`:      func(f *For) { f.Module = "site" },
		`it is sealed for the name "db-url", and this is "token"`:      func(f *For) { f.Name = "token" },
	} {
		f := v.For
		change(&f)
		got, err := k.Open(text, f)
		if err == nil || err.Error() != want || got.Value != nil || fault.KindOf(err) != fault.Denied {
			t.Errorf("%v %v, want %s", got, err, want)
		}
	}
}

// Whatever is wrong with it, it is said in words, and nothing of it is repeated.
func TestWhatIsDamagedIsSaid(t *testing.T) {
	t.Parallel()
	k, v := newKey(t), board()
	text, err := Seal(k.Recipient(), v)
	if err != nil {
		t.Fatal(err)
	}
	data, _ := base64.StdEncoding.DecodeString(text)
	for i := range data {
		bad := bytes.Clone(data)
		bad[i] ^= 1
		if got, err := k.Open(base64.StdEncoding.EncodeToString(bad), v.For); err == nil || got.Value != nil || strings.Contains(err.Error(), "hush") {
			t.Fatalf("byte %d: %v %v", i, got, err)
		}
		if _, err := k.Open(base64.StdEncoding.EncodeToString(data[:i]), v.For); err == nil {
			t.Fatalf("cut at %d, it opens", i)
		}
	}
	for _, bad := range []string{"", "x", text + "\n", " " + text, "é"} {
		if _, err := k.Open(bad, v.For); err == nil {
			t.Errorf("%q opens", bad)
		}
	}
	if _, err := (Key{}).Open(text, v.For); err == nil {
		t.Error("no key opens it")
	}
}

func TestWhatCannotBeSealed(t *testing.T) {
	t.Parallel()
	k := newKey(t)
	for want, change := range map[string]func(*Value){
		"the value is empty": func(v *Value) { v.Value = nil },
		"the value has 65537 bytes, at most 65536 are sealed": func(v *Value) { v.Value = make([]byte, Limit+1) },
		"version 0, want 1 or more":                           func(v *Value) { v.Version = 0 },
	} {
		v := board()
		change(&v)
		if _, err := Seal(k.Recipient(), v); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := Seal("age1x", board()); err == nil {
		t.Error("it is sealed to nobody")
	}
	v := board()
	v.Value = bytes.Repeat([]byte{0xff}, Limit)
	text, err := Seal(k.Recipient(), v)
	if err != nil || len(text) > declaration.SealedLimit {
		t.Errorf("the largest value has %d bytes, which no declaration holds: %v", len(text), err)
	}
	if got, err := k.Open(text, v.For); err != nil || !bytes.Equal(got.Value, v.Value) {
		t.Errorf("the largest value does not open: %v", err)
	}
}

func TestNothingPrintsWhatIsSecret(t *testing.T) {
	t.Parallel()
	k, v := newKey(t), board()
	for _, text := range []string{fmt.Sprint(k, v), fmt.Sprintf("%v %+v %#v %s", k, v, v, v), fmt.Sprintf("%#v %q", k, k)} {
		if strings.Contains(text, "hush") || strings.Contains(text, "AGE-SECRET-KEY") || strings.Contains(text, "104") || strings.Contains(text, "0x68") {
			t.Error(text)
		}
	}
	again, err := ParseKey(k.Reveal())
	if err != nil || again.Recipient() != k.Recipient() {
		t.Error(err)
	}
	if _, err := ParseKey(k.Reveal()[:20]); err == nil || strings.Contains(err.Error(), k.Reveal()[:15]) {
		t.Error(err)
	}
	if bytes.Equal(k.For("a"), k.For("b")) || !bytes.Equal(k.For("a"), again.For("a")) || bytes.Equal(k.For("a"), newKey(t).For("a")) {
		t.Error("what is worked out of a key is not of that key and purpose alone")
	}
}

// FuzzParse: the form of what is sealed. Whatever somebody has sealed, nothing of it
// is in an error.
func FuzzParse(f *testing.F) {
	seed := []byte(`{"format":1,"mesh":"mesh0001","module":"board","name":"db-url","node":"node0001","value":"aHVzaA==","version":1}`)
	if _, err := parse(seed); err != nil {
		f.Fatal(err)
	}
	documenttest.Fuzz(f, documenttest.Codec[Value]{
		Decode: parse,
		Encode: func(v Value) ([]byte, error) {
			return document.Canonical(plain{Format, v.Mesh, v.Node, v.Module, v.Name, v.Version, base64.StdEncoding.EncodeToString(v.Value)})
		},
		Also: func(t *testing.T, b []byte, _ Value, err error) {
			t.Helper()
			if err != nil && len(b) > 80 && strings.Contains(err.Error(), string(b[20:60])) {
				t.Errorf("what was sealed is in %q", err)
			}
		},
	}, 1, seed, bytes.Replace(seed, []byte("1,"), []byte("2,"), 1))
}

// FuzzParseKey: the key as it is kept.
func FuzzParseKey(f *testing.F) {
	k := newKey(f)
	f.Add(k.Reveal())
	f.Add(strings.ToLower(k.Reveal()))
	f.Add("AGE-SECRET-KEY-1")
	f.Fuzz(func(t *testing.T, text string) {
		k, err := ParseKey(text)
		if err != nil {
			if text != "" && err.Error() != "it is no sealing key" {
				t.Errorf("%q", err)
			}
			return
		}
		if again, err := ParseKey(k.Reveal()); err != nil || again.Recipient() != k.Recipient() {
			t.Errorf("%q comes back as another: %v", text, err)
		}
	})
}
