package resource

import "testing"

func TestWhatIsNotValidNowSaysNoTime(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"E: Release file for file:/d/./Release is not valid yet (invalid for another 2h 3min 4s). Updates will not be applied.":               "E: Release file for file:/d/./Release is not valid yet. Updates will not be applied." + clockHint,
		"Release file for x is expired (invalid since 1d 2s). No; Release file for y is expired (invalid since 3s). No":                       "Release file for x is expired. No; Release file for y is expired. No" + clockHint,
		"pull: x509: certificate has expired or is not yet valid: current time 1970-01-01T00:00:07Z is before 2026-01-02T03:04:05Z; and more": "pull: x509: certificate has expired or is not yet valid; and more" + clockHint,
		"pull: x509: certificate has expired or is not yet valid: current time 2100-01-01T00:00:07+02:00 is after 2026-01-02T03:04:05Z":       "pull: x509: certificate has expired or is not yet valid" + clockHint,
		"nothing of it (invalid": "nothing of it (invalid",
		"":                       "",
	} {
		if got := timeless(said); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
