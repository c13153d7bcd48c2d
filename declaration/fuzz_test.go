package declaration_test

import (
	"strings"
	"testing"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/document/documenttest"
)

func FuzzDecode(f *testing.F) {
	documenttest.Fuzz(f, documenttest.Codec[declaration.Declaration]{
		Decode: declaration.Decode, Encode: declaration.Declaration.Encode,
	}, 2, append(documenttest.Seeds(f, "testdata/v1/*.json"),
		[]byte(`{"body":{"modules":[{"content":"sha256:`+strings.Repeat("0", 64)+`","module":"a"}],"resources":[{"command":"raid","id":"a/a","type":"check"},`+
			`{"command":["a",""],"id":"a/b","image":"r.example/x@sha256:`+strings.Repeat("0", 64)+`","name":"x","type":"container"}]},"epoch":1,"format":1,"generation":1,"mesh":"mesh0001","name":"n","node":"nodenode","where":{}}`))...)
}

// FuzzDecodeFile: what stands in a file is what came in a message.
func FuzzDecodeFile(f *testing.F) {
	documenttest.Fuzz(f, documenttest.Codec[declaration.Declaration]{
		Decode: func(b []byte) (declaration.Declaration, error) { return declaration.DecodeFile("declaration.json", b) },
		Encode: declaration.Declaration.Encode,
		Also: func(t *testing.T, b []byte, inFile declaration.Declaration, err error) {
			t.Helper()
			inMessage, other := declaration.Decode(b)
			if (err == nil) != (other == nil) {
				t.Errorf("in a file: %v; in a message: %v", err, other)
			}
			one, _ := document.Canonical(inFile)
			two, _ := document.Canonical(inMessage)
			if string(one) != string(two) {
				t.Errorf("%s\n%s", one, two)
			}
		},
	}, 1, documenttest.Seeds(f, "testdata/v1/*.json")...)
}

// FuzzReservedPath: below what is reserved, everything is.
func FuzzReservedPath(f *testing.F) {
	for _, s := range append(declaration.Reserved(), "/", "/procs", "/etc/systemd/system/mesh-host.service", "/etc/mesh-host2", "/a") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if document.BadPath(path) != "" {
			return
		}
		if declaration.ReservedPath(path) != "" && declaration.ReservedPath(path+"/x") == "" {
			t.Errorf("%q is reserved, and what is below it is not", path)
		}
	})
}
