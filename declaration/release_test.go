package declaration_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"noxmesh/declaration"
	"noxmesh/document"
)

// The package of the host is called as the Makefile makes it of the commit.
func TestTheVersionOfTheHostsPackage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	rule := regexp.MustCompile(`(?m)^DEB_VERSION := \$\(shell echo '\$\(VERSION\)' \| (sed .*)\)$`).FindSubmatch(text)
	if rule == nil {
		t.Fatal("the Makefile does not say what the version of the package is")
	}
	versions := []string{"v1.4.2", "1.4.2", "v1.4.2-3-gab12cd3-dirty", "ab12cd3", "ab12cd3-dirty", "dev", "v", "vx.1", "2", "1-rc.1", "10.0-1", "x.1"}
	cmd := exec.Command("sh", "-c", string(rule[1]))
	cmd.Stdin = strings.NewReader(strings.Join(versions, "\n"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		v := versions[i]
		if got := declaration.HostOf(v); got != want {
			t.Errorf("%s: got %s, want %s", v, got, want)
		}
		if !declaration.SameRelease(want, v) || !declaration.SameRelease(v, v) || declaration.SameRelease("0.0.1", v) {
			t.Errorf("%s is not the release of itself alone", v)
		}
	}
}

// Which one it was is read of what a later version has written, as of what this one has.
func TestWhatCannotBeReadHasItsTuple(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := declarations().Draw(t, "declaration")
		text, err := d.Encode()
		if err != nil {
			t.Fatal(err)
		}
		want, err := d.Tuple()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := declaration.TupleOf(text); err != nil || got != want {
			t.Fatalf("%+v %v, want %+v", got, err, want)
		}
		text = []byte(`{"aside":[{}],` + string(text[1:]))
		if got, err := declaration.TupleOf(text); err != nil || got != want {
			t.Fatalf("with something beside it: %+v %v, want %+v", got, err, want)
		}
		body, err := json.Marshal(map[string]any{"modules": d.Body.Modules, "more": map[string]any{"b": 1, "a": "ü"}})
		if err != nil {
			t.Fatal(err)
		}
		of, err := document.CanonicalDigest(map[string]any{"node": d.Node, "body": json.RawMessage(body)})
		if err != nil {
			t.Fatal(err)
		}
		text = fmt.Appendf(nil, `{"body":%s,"epoch":%d,"generation":%d,"node":%q}`, body, d.Epoch, d.Generation, d.Node)
		if got, err := declaration.TupleOf(text); err != nil || got.Digest != of || got.Epoch != d.Epoch || got.Generation != d.Generation {
			t.Fatalf("with something in it: %+v %v, want %s", got, err, of)
		}
	})
	for _, text := range []string{"", "[]", `"x"`, `{"epoch":"x"}`, `{"epoch":1.5}`, "{", `{"node":"n","body":{"a":1e400}}`} {
		if got, err := declaration.TupleOf([]byte(text)); err == nil {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

// Whatever is wrong, what is said of it has room in a message, and is known again.
func TestWhyADeclarationIsUnknown(t *testing.T) {
	t.Parallel()
	long := errors.New(strings.Repeat("ü", 5000))
	if why := declaration.WhyUnknown(long); !declaration.IsUnknown(why) || len(why) > 1200 {
		t.Errorf("%d bytes", len(why))
	}
	_, err := declaration.Decode([]byte(`{"format":1,"a":1,"b":1,"c":1,"d":1}`))
	if why := declaration.WhyUnknown(err); !declaration.IsUnknown(why) || !strings.Contains(why, `name: the key "name" is missing; and `) || !strings.HasSuffix(why, " more") {
		t.Error(why)
	}
	if declaration.IsUnknown("1/4 is older than 1/5, which was accepted") {
		t.Error("what is older is taken for what is unknown")
	}
}
