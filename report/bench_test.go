package report_test

import (
	"strconv"
	"testing"

	"noxmesh/report"
)

// A report of a usual node, as a controller of ten thousand reads them.
func BenchmarkReport(b *testing.B) {
	r := whole()
	r.Resources = nil
	for i := range 100 {
		r.Resources = append(r.Resources, report.Resource{ID: "board/r" + strconv.Itoa(i), Digest: digest(strconv.Itoa(i)), State: report.StateOK})
	}
	text, err := r.Encode()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, err := report.Decode(text); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encode", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, err := r.Encode(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
