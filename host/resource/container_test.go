package resource

import (
	"slices"
	"strings"
	"testing"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/host/keep"
	"noxmesh/host/podman"
)

// A word in the file of a unit is one word to systemd, and what it says.
func TestWordsOfAUnit(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":              `""`,
		"--name=web":    `"--name=web"`,
		"a b;":          `"a b;"`,
		`"x" \ 'y'`:     `"\"x\" \\ 'y'"`,
		"100% $HOME":    `"100%% $$HOME"`,
		"one\ntwo\tx\r": `"one\x0atwo\x09x\x0d"`,
		"Grüße\x7f":     `"Grüße\x7f"`,
	} {
		if got := unitWord(in); got != want {
			t.Errorf("%q\ngot  %s\nwant %s", in, got, want)
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
		check, err := podman.ParseCheck([]byte(in))
		if got := strings.Join(checkWords(check), " "); got != want || err != nil {
			t.Errorf("%s\ngot  %s, %v\nwant %s", in, got, err, want)
		}
	}
	if _, err := podman.ParseCheck([]byte("<html>")); err == nil || !strings.Contains(err.Error(), "read the configuration of an image") {
		t.Error(err)
	}
}

// A note is taken for what it was written as; another one means nothing.
func TestNotesOfAContainer(t *testing.T) {
	t.Parallel()
	n := containerNote{Of: "x@y", Image: "z", Check: &podman.Check{Test: []string{"CMD", "a b\n"}, Interval: 5}, Brought: []string{"p", "q"}, Unit: "STARTED of=1 from= again=0"}
	if got := readContainerNote(n.String()); got.String() != n.String() || got.Check == nil || got.Check.Test[1] != "a b\n" {
		t.Errorf("%+v", got)
	}
	for _, text := range []string{"", "STARTED", `{"of":1}`, `{"what":"x"}`} {
		if got := readContainerNote(text).String(); got != "{}" {
			t.Errorf("%q is %s", text, got)
		}
	}
}

// What a container is started as has a mark of its own, whatever is told apart by it.
func TestMarksOfContainers(t *testing.T) {
	t.Parallel()
	digest := string(document.Sum(nil))
	seen := map[string]string{}
	for name, change := range map[string]func(*declaration.Traits){
		"nothing":   func(*declaration.Traits) {},
		"a command": func(t *declaration.Traits) { t.Command.Words = []string{"a", "b"} },
		"one word":  func(t *declaration.Traits) { t.Command.Words = []string{"a b"} },
		"env":       func(t *declaration.Traits) { t.Env = map[string]string{"A": "b"} },
		"ports":     func(t *declaration.Traits) { t.Ports = []string{"1:1"} },
		"volumes":   func(t *declaration.Traits) { t.Volumes = []string{"/a:/a"} },
		"user":      func(t *declaration.Traits) { t.User = "1" },
	} {
		want := declaration.Traits{Name: "web", Image: "mesh.internal/m/web@" + digest}
		change(&want)
		c := newContained(&holding{want: want, hold: keep.Hold{Subject: "container web"}})
		c.image.ID = "id"
		mark := c.mark()
		if other, there := seen[mark]; there {
			t.Errorf("%s is %s", name, other)
		}
		seen[mark] = name
		if !strings.Contains(c.text(), `"--label=mesh.declared=`+mark+`"`) {
			t.Errorf("%s: %s", name, c.text())
		}
	}
	if c := newContained(&holding{want: declaration.Traits{Name: "web", Image: "mesh.internal/m/web@" + digest}}); localName(c.of) != "mesh.internal/m/web:"+digest[7:19] || !slices.Equal(c.words()[:1], []string{"--rm"}) {
		t.Error(localName(c.of))
	}
}
