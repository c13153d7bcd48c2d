package cli

import (
	"context"
	"os"
	"strings"
	"testing"

	"noxmesh/document/documenttest"
	"noxmesh/internal/fault"
)

// FuzzParseSettings: each setting is what stands behind the first =.
func FuzzParseSettings(f *testing.F) {
	for _, s := range []string{"", "port=8080", "a=b=c", "=x", "a", "a=1,a=2", "\x1b[2J=x", "a=\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, all string) {
		set := strings.Split(all, ",")
		settings, err := parseSettings(set)
		if err != nil {
			documenttest.Plain(t, err)
			if fault.KindOf(err) != fault.Invalid {
				t.Errorf("kind %s: %v", fault.KindOf(err), err)
			}
			return
		}
		for name, value := range settings {
			if strings.Contains(name, "=") || len(settings) != len(set) || !strings.Contains(all, name+"="+value) {
				t.Errorf("%q is read as %v", all, settings)
			}
		}
	})
}

// FuzzDevPorts gives any content to the file of ports that mesh dev keeps.
func FuzzDevPorts(f *testing.F) {
	for _, s := range append(documenttest.Hostile(), []byte(`{"api":1,"broker":2}`)) {
		f.Add(s)
	}
	d := dev{dir: f.TempDir()}
	ctx, cancel := context.WithCancel(f.Context())
	cancel() // no port is tried
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(d.path("ports.json"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := d.choosePorts(ctx); err != nil {
			documenttest.Plain(t, err)
		}
	})
}
