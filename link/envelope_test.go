package link

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/internal/fault"
)

// The encoding that is signed, from the protocol's own text (DSSE 1.0.2) and its edges.
func TestPreAuthIsThatOfTheProtocol(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, payload, want string }{
		{"http://example.com/HelloWorld", "hello world", "DSSEv1 29 http://example.com/HelloWorld 11 hello world"},
		{"", "", "DSSEv1 0  0 "},
		{"a", "b c", "DSSEv1 1 a 3 b c"},
		{"ä", "ö", "DSSEv1 2 ä 2 ö"},
	} {
		if got := string(preAuth(PayloadType(c.kind), []byte(c.payload))); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// A signature of before must verify for ever: RFC 8032's first key over the protocol's example,
// as openssl makes it.
func TestTheBytesOfASignatureStand(t *testing.T) {
	t.Parallel()
	seed, err := hex.DecodeString("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
	if err != nil {
		t.Fatal(err)
	}
	k := mustKey(t, seed)
	if got, want := k.Public(), PublicKey("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"); got != want {
		t.Fatalf("public key %s, want %s", got, want)
	}
	if got, want := k.Public().ID(), "21fe31dfa154a261"; got != want {
		t.Errorf("key id %s, want %s", got, want)
	}
	got := base64.StdEncoding.EncodeToString(sign(k, "http://example.com/HelloWorld", []byte("hello world")).Sig)
	want := "4DHX3Zn4qpBKvEj7maE8O9u9bjXEnPLLnyXVUJ2PXJR8DSLcL3QDpFvfJOj3pB/SPHsl6Jg4boxsMb6KvuYABw=="
	if got != want {
		t.Errorf("got %s", got)
	}
}

// The same key as openssl writes it: what others verify with.
func TestAKeyAsOthersTakeIt(t *testing.T) {
	t.Parallel()
	const want = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----\n"
	if got, err := PublicKey("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo").PEM(); err != nil || got != want {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := PublicKey("x").PEM(); err == nil || got != "" {
		t.Errorf("of what is no key: %q", got)
	}
}

func allTypes() []PayloadType {
	return []PayloadType{
		TypeDeclaration, TypeHello, TypeHelloAnswer, TypeReport, TypeReceipt, TypeWork,
		TypeWorkAnswer, TypeWorking, TypeBuildRequest, TypeBuildAnswer, TypeKeys, TypeStatement,
	}
}

func TestWhatIsSealedOpensAndNothingElse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		k, other := drawKey(t, "key"), drawKey(t, "other key")
		kind := rapid.SampledFrom(allTypes()).Draw(t, "type")
		content := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "content")
		e, err := Seal(k, kind, content)
		if err != nil {
			t.Skip("a text that has no encoding")
		}
		payload, err := e.Open(kind, other.Public(), k.Public())
		want, _ := document.Canonical(content)
		if err != nil || !bytes.Equal(payload, want) {
			t.Fatalf("did not open: %v", err)
		}
		denied(t, e, kind, "without keys")
		if other.Public() != k.Public() {
			denied(t, e, kind, "another's key", other.Public())
		}
		// For no other type, neither as it is nor relabelled.
		for _, wrong := range allTypes() {
			if wrong == kind {
				continue
			}
			denied(t, e, wrong, "another type", k.Public())
			relabelled := e
			relabelled.PayloadType = wrong
			denied(t, relabelled, wrong, "relabelled", k.Public())
		}
	})
}

// Any bit of what is signed, and of the signature, and of its key's id.
func TestAnyFlippedBitFails(t *testing.T) {
	t.Parallel()
	k := mustKey(t, nil)
	e := mustSeal(t, k, TypeReport, map[string]int64{"sequence": 41})
	s := e.Signatures[0]
	flipped := func(b []byte) (all [][]byte) {
		for bit := range len(b) * 8 {
			c := bytes.Clone(b)
			c[bit/8] ^= 1 << (bit % 8)
			all = append(all, c)
		}
		return all
	}
	for _, payload := range flipped(e.Payload) {
		denied(t, Envelope{e.PayloadType, payload, e.Signatures}, TypeReport, "payload", k.Public())
	}
	for _, sig := range flipped(s.Sig) {
		denied(t, Envelope{e.PayloadType, e.Payload, []Signature{{s.KeyID, sig}}}, TypeReport, "signature", k.Public())
	}
	for _, id := range flipped([]byte(s.KeyID)) {
		denied(t, Envelope{e.PayloadType, e.Payload, []Signature{{string(id), s.Sig}}}, TypeReport, "key id", k.Public())
	}
}

func TestSeveralSignatures(t *testing.T) {
	t.Parallel()
	first, second := mustKey(t, nil), mustKey(t, nil)
	e := mustSeal(t, first, TypeKeys, Keys{Format: 1})
	both, err := e.Also(second)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []Key{first, second} {
		if _, err := both.Open(TypeKeys, k.Public()); err != nil {
			t.Errorf("one of two signatures is not enough: %v", err)
		}
	}
	if len(e.Signatures) != 1 {
		t.Error("Also changed what it was given")
	}
	if _, err := both.Also(first); fault.KindOf(err) != fault.Conflict {
		t.Errorf("signed twice by one key: %v", err)
	}
	doubled := e
	doubled.Signatures = append(doubled.Signatures, e.Signatures[0])
	denied(t, doubled, TypeKeys, "two signatures of one key id", first.Public())
	many := e
	for i := range SignatureLimit {
		many.Signatures = append(many.Signatures, Signature{fmt.Sprintf("%016x", i), nil})
	}
	denied(t, many, TypeKeys, "more signatures than are tried", first.Public())
	if _, err := many.Also(second); fault.KindOf(err) != fault.Invalid {
		t.Errorf("one more than is tried: %v", err)
	}
}

func TestSizeIsBounded(t *testing.T) {
	t.Parallel()
	k := mustKey(t, nil)
	if _, err := Seal(k, TypeReport, strings.Repeat("x", PayloadLimit)); fault.KindOf(err) != fault.Invalid {
		t.Errorf("sealed more than crosses: %v", err)
	}
	big := Envelope{TypeReport, make([]byte, PayloadLimit+1), nil}
	big.Signatures = []Signature{sign(k, TypeReport, big.Payload)}
	denied(t, big, TypeReport, "too large", k.Public())
	if _, err := Seal(Key{}, TypeReport, 1); fault.KindOf(err) != fault.Broken {
		t.Errorf("sealed without a key: %v", err)
	}
}

// A declaration of its largest size fits the broker's limit even where it
// travels in the answer to a hello, encoded twice.
func TestTheLargestDeclarationFitsAnAnswer(t *testing.T) {
	t.Parallel()
	k := mustKey(t, nil)
	inner := Envelope{TypeDeclaration, make([]byte, declaration.Limits.Bytes), nil}
	inner.Signatures = []Signature{sign(k, TypeDeclaration, inner.Payload)}
	outer := mustSeal(t, k, TypeHelloAnswer, HelloAnswer{Format: 1, Declaration: &inner})
	b, err := document.Canonical(outer)
	if err != nil {
		t.Fatal(err)
	}
	if limit := 8<<20 - 64<<10; len(b) > limit {
		t.Errorf("%d bytes, the broker's limit leaves %d", len(b), limit)
	}
}

func TestAKeyHasOneWriting(t *testing.T) {
	t.Parallel()
	p := mustKey(t, nil).Public()
	if !p.Valid() {
		t.Fatal("a made key is not valid")
	}
	last := p[len(p)-1]
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/\n" {
		other := p[:len(p)-1] + PublicKey(c)
		if c != rune(last) && other.Valid() {
			raw, _ := base64.RawURLEncoding.DecodeString(string(other))
			mine, _ := base64.RawURLEncoding.DecodeString(string(p))
			if bytes.Equal(raw, mine) {
				t.Errorf("%q is another writing of the same key", other)
			}
		}
	}
	for _, bad := range []PublicKey{"", p + "A", p + "=", p[:42], p + "\n", PublicKey(strings.ToUpper(string(p[:42]))) + "!"} {
		if bad.Valid() || bad.ID() != "" {
			t.Errorf("%q is taken for a key", bad)
		}
	}
}

func TestKeysHide(t *testing.T) {
	t.Parallel()
	k := mustKey(t, nil)
	canonical, err := document.Canonical(k)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprint(k), fmt.Sprintf("%+v %#v %s %v", k, k, k, &k), k.LogValue().String(), string(canonical)} {
		if strings.Trim(text, `* "`) != "" {
			t.Errorf("a key printed %q", text)
		}
	}
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func denied(t failer, e Envelope, kind PayloadType, what string, keys ...PublicKey) {
	t.Helper()
	if _, err := e.Open(kind, keys...); fault.KindOf(err) != fault.Denied {
		t.Fatalf("%s: opened: %v", what, err)
	}
}

func drawKey(t *rapid.T, name string) Key {
	k, err := KeyFromSeed(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func mustKey(t *testing.T, seed []byte) Key {
	t.Helper()
	var k Key
	var err error
	if seed == nil {
		k, err = NewKey()
	} else {
		k, err = KeyFromSeed(seed)
	}
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func mustSeal(t *testing.T, k Key, kind PayloadType, v any) Envelope {
	t.Helper()
	e, err := Seal(k, kind, v)
	if err != nil {
		t.Fatal(err)
	}
	return e
}
