package broker_test

import (
	"testing"

	"noxmesh/document/documenttest"
	"noxmesh/internal/bus/broker"
)

func FuzzParseKeys(f *testing.F) {
	keys, err := broker.NewKeys()
	if err != nil {
		f.Fatal(err)
	}
	whole, err := keys.Encode()
	if err != nil {
		f.Fatal(err)
	}
	documenttest.Fuzz(f, documenttest.Codec[broker.Keys]{Decode: broker.ParseKeys, Encode: broker.Keys.Encode}, 2, whole, whole[:len(whole)/2])
}
