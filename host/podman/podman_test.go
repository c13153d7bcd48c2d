package podman

import (
	"strings"
	"testing"

	"noxmesh/host/container"
)

// The last line that a program says is why it has ended.
func TestLastWords(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                            "",
		"Trying to pull\nError: no\n": "no",
		"one line":                    "one line",
		"Error: payload does not match any of the supported image formats:\n * oci: a\n * oci-archive: untarring: unexpected EOF\n * dir: b\n": "untarring: unexpected EOF",
	} {
		if got := loadWords(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

// What an image says of its check is what podman is told.
func TestChecksOfAnImage(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"config":{}}`: "--no-healthcheck",
		`{"config":{"Healthcheck":{"Test":["NONE"]}}}`:     "--no-healthcheck",
		`{"config":{"Healthcheck":{"Test":[]}}}`:           "--no-healthcheck",
		`{"config":{"Healthcheck":{"Test":["CMD","/x"]}}}`: "--health-cmd=CMD /x",
		`{"config":{"Healthcheck":{"Test":["CMD","/x","a b"],"Interval":1500000000,"Timeout":2000000000,"StartPeriod":3000000000,"Retries":4}}}`: `--health-cmd=["/x","a b"] --health-interval=1500000000ns --health-timeout=2000000000ns --health-start-period=3000000000ns --health-retries=4`,
		`{"config":{"Healthcheck":{"Test":["CMD-SHELL","curl -f http://localhost || exit 1"]}}}`:                                                 `--health-cmd=["CMD-SHELL","curl -f http://localhost || exit 1"]`,
	} {
		check, err := container.ParseCheck([]byte(in))
		if got := strings.Join(Podman{}.Words(check)[6:], " "); got != want || err != nil {
			t.Errorf("%s\ngot  %s, %v\nwant %s", in, got, err, want)
		}
	}
	if _, err := container.ParseCheck([]byte("<html>")); err == nil || !strings.Contains(err.Error(), "read the configuration of an image") {
		t.Error(err)
	}
}
