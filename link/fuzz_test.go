package link_test

import (
	"bytes"
	"strings"
	"testing"

	"noxmesh/document/documenttest"
	"noxmesh/link"
)

// FuzzDecode gives each input to the decoder of every message: no input of one
// may be anything but refused or canonical for another.
func FuzzDecode(f *testing.F) {
	seeds := documenttest.Seeds(f, "testdata/v1/*.json")
	if len(seeds) < 8 {
		f.Fatalf("%d seeds", len(seeds))
	}
	for _, s := range append(seeds, documenttest.Hostile()...) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, k := range kinds() {
			documenttest.Check(t, documenttest.Codec[any]{Decode: k.decode}, in)
		}
	})
}

// FuzzOpen: whatever is changed in what was signed, nothing comes out but what was signed.
func FuzzOpen(f *testing.F) {
	key, err := link.KeyFromSeed(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		f.Fatal(err)
	}
	sealed, err := link.Seal(key, link.TypeKeys, map[string]int{"format": 1})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(sealed.Payload), []byte(sealed.Signatures[0].Sig), string(sealed.PayloadType), sealed.Signatures[0].KeyID)
	f.Add([]byte("{}"), bytes.Repeat([]byte{7}, 64), string(link.TypeReport), "")
	f.Add([]byte("{}"), []byte{}, strings.Repeat("\x80", 3000), strings.Repeat("k", 3000))
	f.Fuzz(func(t *testing.T, payload, signature []byte, kind, id string) {
		e := link.Envelope{PayloadType: link.PayloadType(kind), Payload: payload, Signatures: []link.Signature{{KeyID: id, Sig: signature}}}
		if k, err := link.VerifyKeys(e, key.Public(), link.Keys{}); err != nil {
			documenttest.Plain(t, err)
		} else {
			t.Errorf("the key document %+v was believed", k)
		}
		got, err := e.Open(link.TypeKeys, key.Public())
		if err != nil {
			documenttest.Plain(t, err)
			return
		}
		if kind != string(link.TypeKeys) || !bytes.Equal(got, sealed.Payload) {
			t.Errorf("%q of type %q was believed", got, kind)
		}
	})
}
