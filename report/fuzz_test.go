package report_test

import (
	"testing"

	"noxmesh/document/documenttest"
	"noxmesh/report"
)

func FuzzDecode(f *testing.F) {
	documenttest.Fuzz(f, documenttest.Codec[report.Report]{
		Decode: func(b []byte) (report.Report, error) {
			r, err := report.Decode(b)
			if err == nil {
				_ = report.AppliedModules(r)
			}
			return r, err
		},
		Encode: report.Report.Encode,
	}, 1, documenttest.Seeds(f, "testdata/v1/*.json")...)
}

// FuzzWords: a word that is taken is itself.
func FuzzWords(f *testing.F) {
	for _, s := range []string{"", "ok", "applied", "drift", "OK", " ok", "\x1b[2J", "failed", "confirming"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		cause, err := report.ParseCause(s)
		word(t, s, string(cause), err)
		outcome, err := report.ParseOutcome(s)
		word(t, s, string(outcome), err)
		state, err := report.ParseState(s)
		word(t, s, string(state), err)
	})
}

func word(t *testing.T, in, out string, err error) {
	t.Helper()
	if err != nil {
		documenttest.Plain(t, err)
	} else if in != out {
		t.Errorf("%q is taken as %q", in, out)
	}
}
