package controller

import (
	"testing"
	"time"

	"noxmesh/document/documenttest"
)

// FuzzParseKeys: what is taken is whole, whatever damaged the file.
func FuzzParseKeys(f *testing.F) {
	whole, err := makeKeys(f.TempDir(), time.Unix(1_800_000_000, 0))
	if err != nil {
		f.Fatal(err)
	}
	if _, err := parseKeys(whole); err != nil {
		f.Fatal(err)
	}
	for _, s := range append(documenttest.Hostile(), whole, whole[:len(whole)/2]) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		done := documenttest.Bounded(t, len(data))
		k, err := parseKeys(data)
		done()
		if err != nil {
			documenttest.Plain(t, err)
		} else if k.declare.Zero() || !k.root.Valid() || k.version < 1 || k.broker.Zero() {
			t.Errorf("half of the keys were taken from %q", data)
		}
	})
}
