package link_test

import (
	"bytes"
	"encoding/base64"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/link"
)

var update = flag.Bool("update", false, "write the golden files anew")

func sum(s string) document.Digest { return document.Sum([]byte(s)) }

func sealed(t link.PayloadType) *link.Envelope {
	return &link.Envelope{PayloadType: t, Payload: []byte(`{"format":1}`), Signatures: []link.Signature{{KeyID: "0123456789abcdef", Sig: bytes.Repeat([]byte{7}, 64)}}}
}

// kind is one message: an example of it, and its decoder.
type kind struct {
	example any
	decode  func([]byte) (any, error)
}

func of[T any](example T, decode func([]byte) (T, error)) kind {
	return kind{example, func(b []byte) (any, error) { return decode(b) }}
}

func kinds() map[string]kind {
	tuple := declaration.Tuple{Epoch: 7, Generation: 42, Digest: sum("d")}
	key, _ := link.KeyFromSeed(bytes.Repeat([]byte{1}, 32))
	return map[string]kind{
		"envelope": of(*sealed(link.TypeReport), link.DecodeEnvelope),
		"hello": of(link.Hello{
			Format: 1, Mesh: "mesh0001", Node: "n7f3k000", Boot: "b", Counter: 3, Host: "1.0", Speaks: []int{1}, Keys: 2, Accepted: tuple,
			Refused: &link.Refusal{Epoch: 7, Generation: 41, Digest: sum("c"), Why: "older"},
		}, link.DecodeHello),
		"hello-answer": of(link.HelloAnswer{
			Format: 1, Mesh: "mesh0001", Node: "n7f3k000", Counter: 3, At: 1000,
			Declaration: sealed(link.TypeDeclaration), Keys: sealed(link.TypeKeys), Why: "x",
		}, link.DecodeHelloAnswer),
		"receipt": of(link.Receipt{Format: 1, Mesh: "mesh0001", To: "n7f3k000", For: "12", At: 1000, Stop: "withdrawn"}, link.DecodeReceipt),
		"work": of(link.Work{
			Format: 1, Mesh: "mesh0001", Builder: "builder1", Counter: 1, Version: "1.0", Platform: "linux/amd64", Sandbox: "no bwrap", Speaks: []int{1},
		}, link.DecodeWork),
		"work-answer": of(link.WorkAnswer{
			Format: 1, Mesh: "mesh0001", Builder: "builder1", Counter: 1, At: 1000, Request: sealed(link.TypeBuildRequest), Lease: 60, Keys: sealed(link.TypeKeys),
		}, link.DecodeWorkAnswer),
		"working":    of(link.Working{Format: 1, Mesh: "mesh0001", Builder: "builder1", Request: "r", Offset: 10, Log: "+ make\n"}, link.DecodeWorking),
		"working-at": of(link.Working{Format: 1, Mesh: "mesh0001", Builder: "builder1", Request: "r", Offset: 10, Step: "test", Elapsed: 1500}, link.DecodeWorking),
		"keys":       of(link.Keys{Format: 1, Mesh: "mesh0001", Version: 1, Declare: []link.PublicKey{key.Public()}}, link.DecodeKeys),
	}
}

func canonical(t *testing.T, v any) string {
	t.Helper()
	b, err := document.Canonical(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestTheMessagesOfVersion1DecodeForEver(t *testing.T) {
	t.Parallel()
	for name, k := range kinds() {
		file, got := filepath.Join("testdata", "v1", name+".json"), canonical(t, k.example)
		if *update {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		v, err := k.decode(want)
		if d := cmp.Diff(k.example, v); err != nil || d != "" {
			t.Errorf("%s: %v %s", name, err, d)
		}
	}
}

// What every message refuses, whatever it says.
func TestEveryMessageIsStrict(t *testing.T) {
	t.Parallel()
	for name, k := range kinds() {
		good := canonical(t, k.example)
		for what, in := range map[string]string{
			"nothing":  "",
			"null":     "null",
			"list":     "[" + good + "]",
			"twice":    good + good,
			"unknown":  `{"unheard":1,` + good[1:],
			"again":    good[:len(good)-1] + "," + good[1:],
			"cut":      good[:len(good)-1],
			"not utf8": good[:len(good)-2] + "\xff" + good[len(good)-2:],
			"too deep": `{"x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `,` + good[1:],
			"too much": good[:len(good)-1] + strings.Repeat(" ", link.EnvelopeLimit) + "}",
		} {
			v, err := k.decode([]byte(in))
			if fault.KindOf(err) != fault.Invalid || document.ProblemsOf(err) == nil {
				t.Errorf("%s: %s: %v", name, what, err)
			}
			if !reflect.ValueOf(v).IsZero() {
				t.Errorf("%s: %s: half of it was given out", name, what)
			}
		}
		if name == "envelope" {
			continue
		}
		_, err := k.decode([]byte(strings.Replace(good, `"format":1,"`, `"format":2,"new":0,"`, 1)))
		if err == nil || !strings.Contains(err.Error(), "this program speaks 1") || !strings.Contains(err.Error(), "is format 2; upgrade this program") || fault.HintOf(err) == "" {
			t.Errorf("%s: a newer format: %v", name, err)
		}
		if _, err := k.decode([]byte(strings.Replace(good, `"mesh0001"`, `"mesh.>"`, 1))); err == nil && name != "keys" {
			t.Errorf("%s: taken from mesh.>", name)
		}
	}
}

func TestEveryRuleOfAMessage(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 5000)
	for _, c := range []struct{ kind, old, new, want string }{
		{"envelope", base64.StdEncoding.EncodeToString([]byte(`{"format":1}`)), "eyJmb3JtYXQiOjF9\\n", "at payload: the string is not base64"},
		{"envelope", base64.StdEncoding.EncodeToString([]byte(`{"format":1}`)), "_-8=", "at payload: the string is not base64"},
		{"envelope", "application/vnd.mesh.report.v1+json", "", "at payloadType: it has 0 bytes; want the type of what is in it"},
		{"envelope", `"signatures":[`, `"signatures":[` + strings.Repeat(`{"keyid":"","sig":""},`, 8), "at signatures: 9 signatures; want 1 to 8"},
		{"envelope", `"keyid"`, `"keyId"`, `did you mean "keyid"? keys are told apart by case`},
		{"hello", `"n7f3k000"`, `"*"`, "at node: it is not an id"},
		{"hello", `"counter":3`, `"counter":0`, "at counter: it is 0; want 1 or more"},
		{"hello", `"speaks":[1]`, `"speaks":[]`, "at speaks: 0 formats; want 1 to 32"},
		{"hello", `"speaks":[1]`, `"speaks":[0]`, "at speaks[0]: it is 0"},
		{"hello", `"older"`, `"` + large + `"`, "at refused.why: 5000 bytes; want at most 4096"},
		{"hello", string(sum("c")), "x", "at refused.digest: it is not a digest"},
		{"hello", `"epoch":7`, `"epoch":0`, "at accepted.epoch: it is 0"},
		{"hello-answer", `"counter":3`, `"counter":-3`, "at counter: it is -3"},
		{"hello-answer", `"current":false`, `"current":true`, "at declaration: current, and a declaration that is not; want one of them"},
		{"hello-answer", `application/vnd.mesh.declaration.v1+json`, ``, "at declaration.payloadType"},
		{"receipt", `"for":"12"`, `"for":""`, "at for: it has 0 bytes"},
		{"receipt", `"withdrawn"`, `"` + large + `"`, "at stop: 5000 bytes"},
		{"work", `"builder1"`, `"b"`, "at builder: it is not an id"},
		{"work", `"no bwrap"`, `"` + large + `"`, "at sandbox: 5000 bytes"},
		{"work-answer", `"lease":60`, `"lease":0`, "at lease: it is 0; want 1 or more"},
		{"working", `"offset":10`, `"offset":-1`, "at offset: it is -1"},
		{"working", `"request":"r"`, `"request":""`, "at request: it has 0 bytes"},
		{"working", `+ make`, strings.Repeat("x", 300<<10), "want at most 262144"},
		{"keys", `"version":1`, `"version":0`, "version 0, want 1 or more"},
	} {
		k := kinds()[c.kind]
		good := canonical(t, k.example)
		in := strings.Replace(good, c.old, c.new, 1)
		if in == good {
			t.Errorf("%s: nothing was replaced for %q", c.kind, c.want)
			continue
		}
		if _, err := k.decode([]byte(in)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got  %v\nwant %s", c.kind, err, c.want)
		}
	}
}

// The largest declaration reaches its host: sealed, inside an answer, sealed again.
func TestTheLargestDeclarationPasses(t *testing.T) {
	t.Parallel()
	key, err := link.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	inner, err := link.Seal(key, link.TypeDeclaration, strings.Repeat("x", declaration.Limits.Bytes-2))
	if err != nil {
		t.Fatal(err)
	}
	outer, err := link.Seal(key, link.TypeHelloAnswer, link.HelloAnswer{Format: 1, Mesh: "mesh0001", Node: "n7f3k000", Counter: 1, Declaration: &inner})
	if err != nil {
		t.Fatal(err)
	}
	b := []byte(canonical(t, outer))
	if len(b) > link.EnvelopeLimit {
		t.Fatalf("%d bytes, the broker carries %d", len(b), link.EnvelopeLimit)
	}
	e, err := link.DecodeEnvelope(b)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := e.Open(link.TypeHelloAnswer, key.Public())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := link.DecodeHelloAnswer(payload); err != nil {
		t.Fatal(err)
	}
}

// What a host says of the last answer that it has heard is a time, or that it has heard none.
func TestHelloFreshAt(t *testing.T) {
	t.Parallel()
	for at, right := range map[int64]bool{0: true, 900: true, -1: false} {
		h := link.Hello{Format: 1, Mesh: "mesh0001", Node: "n7f3k000", Boot: "b", Counter: 3, Host: "1.0", Speaks: []int{1}, FreshAt: &at}
		text, err := document.Canonical(h)
		if err != nil {
			t.Fatal(err)
		}
		got, err := link.DecodeHello(text)
		if (err == nil) != right || right && *got.FreshAt != at {
			t.Errorf("%d: %+v, %v", at, got, err)
		}
	}
}
