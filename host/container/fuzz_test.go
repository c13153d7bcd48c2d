package container

import (
	"testing"

	"noxmesh/document/documenttest"
)

func checks() []string {
	return []string{
		`{"config":{"Healthcheck":{"Test":["CMD","/x","a"],"Interval":1000000000,"Retries":3}}}`,
		`{"config":{"Healthcheck":{"Test":["CMD-SHELL","exit 1"]}}}`,
		`{"config":{"Healthcheck":{"Test":["NONE"]}}}`,
		`{"config":{"Healthcheck":null}}`,
		`{"config":{"Healthcheck":{"Test":"x","Interval":"1s"}}}`,
		`<html>`,
	}
}

// FuzzParseCheck: what is taken for a check has a command, and what is refused can be shown.
func FuzzParseCheck(f *testing.F) {
	if len(checks()) != 6 {
		f.Fatal("a seed is missing")
	}
	for _, s := range checks() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		defer documenttest.Bounded(t, len(text))()
		check, err := ParseCheck(text)
		if err != nil {
			if check != nil || err.Error() == "" {
				t.Errorf("%v, and %+v", err, check)
			}
			return
		}
		if check != nil && (len(check.Test) < 2 || check.Test[0] != "CMD" && check.Test[0] != "CMD-SHELL") {
			t.Errorf("%+v is no check", check)
		}
	})
}
