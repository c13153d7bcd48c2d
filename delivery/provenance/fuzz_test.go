package provenance_test

import (
	"testing"

	"noxmesh/delivery/provenance"
	"noxmesh/document/documenttest"
)

func FuzzDecode(f *testing.F) {
	documenttest.Fuzz(f, documenttest.Codec[provenance.Statement]{Decode: provenance.Decode, Encode: provenance.Statement.Encode},
		1, documenttest.Seeds(f, "testdata/v1/*.json")...)
}

// FuzzVerify: whatever is signed, it stands only where it is the one statement
// about what was made.
func FuzzVerify(f *testing.F) {
	good := encode(f, of(f, made()))
	f.Add(good)
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := provenance.Decode(data)
		if err != nil || provenance.Verify(s, made()) != nil {
			return
		}
		m := made()
		s.Predicate.Run.Metadata.Finished = provenance.Time(m.Finished)
		if got := encode(t, s); string(got) != string(good) {
			t.Errorf("it stands, and is %s", got)
		}
	})
}
