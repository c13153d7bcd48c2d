package builder

import (
	"bytes"
	"strings"
	"testing"
)

func TestCommandLine(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	for name, c := range map[string]struct {
		args      []string
		code      int
		out, errs string
	}{
		"nothing":          {nil, exitAnswered, "Examples:", ""},
		"help":             {[]string{"--help"}, exitAnswered, "mesh-builder join TOKEN", ""},
		"help of a verb":   {[]string{"run", "--help"}, exitAnswered, "Usage:", ""},
		"version":          {[]string{"version"}, exitAnswered, "mesh-builder 1.2.3 " + Platform, ""},
		"unknown":          {[]string{"biuld"}, exitUsage, "", `there is no command "biuld"`},
		"unknown flag":     {[]string{"run", "--statee", "x"}, exitUsage, "", "statee"},
		"no token":         {[]string{"join"}, exitUsage, "", "takes 1"},
		"not a token":      {[]string{"join", "hello", "--state", empty}, exitCouldNot, "", "mesh-join-1."},
		"not joined":       {[]string{"run", "--state", empty}, exitCouldNot, "", "has not joined"},
		"what to do then":  {[]string{"run", "--state", empty}, exitCouldNot, "", "hint: mesh builder add"},
		"status of nobody": {[]string{"status", "--state", empty + "/no"}, exitCouldNot, "", "join TOKEN"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			code := Main(t.Context(), c.args, "1.2.3", &out, &errs)
			if code != c.code || !strings.Contains(out.String(), c.out) || !strings.Contains(errs.String(), c.errs) {
				t.Errorf("status %d, said %q, and %q beside it", code, out.String(), errs.String())
			}
			if c.errs == "" && errs.Len() > 0 {
				t.Errorf("it complains: %q", errs.String())
			}
		})
	}
}

func TestStatusNeverShowsASecret(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	var out, errs bytes.Buffer
	if code := Main(t.Context(), []string{"status", "--state", rig.config.State}, "x", &out, &errs); code != exitAnswered {
		t.Fatalf("status %d: %s", code, errs.String())
	}
	if !strings.Contains(out.String(), testBuilder) || strings.Contains(out.String(), testSecret) {
		t.Errorf("said:\n%s", out.String())
	}
}
