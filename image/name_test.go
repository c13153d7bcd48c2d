package image_test

import (
	"strings"
	"testing"

	"noxmesh/image"
)

func TestReferencesHaveOneForm(t *testing.T) {
	t.Parallel()
	sum := "sha256:" + strings.Repeat("0a", 32)
	for in, want := range map[string]string{
		"golang:1.22":                     "docker.io/library/golang:1.22",
		"golang":                          "docker.io/library/golang:latest",
		"index.docker.io/golang:1":        "docker.io/library/golang:1",
		"me/tool:x":                       "docker.io/me/tool:x",
		"localhost/a:1":                   "localhost/a:1",
		"127.0.0.1:5000/site/base":        "127.0.0.1:5000/site/base:latest",
		"[::1]:5000/a:1":                  "[::1]:5000/a:1",
		"reg.example/a/b@" + sum:          "reg.example/a/b@" + sum,
		"reg.example:1/a/b:t@" + sum:      "reg.example:1/a/b:t@" + sum,
		"":                                "",
		"Golang:1":                        "",
		"golang:":                         "",
		"golang:1.22 ":                    "",
		"golang@sha256:12":                "",
		"golang:1@":                       "",
		"https://reg.example/a":           "",
		"a//b":                            "",
		"reg.example:port/a":              "",
		strings.Repeat("0a", 32):          "",
		"reg.example/../../etc/passwd":    "",
		"a:" + strings.Repeat("x", 129):   "",
		"a/" + strings.Repeat("b/c", 100): "",
	} {
		r, ok := image.Parse(in)
		if ok != (want != "") || ok && r.String() != want {
			t.Errorf("%q is %q, %v; want %q", in, r, ok, want)
		}
	}
}

func seeds() []string {
	return []string{"golang:1.22", "a/b/c", "localhost:5000/x", "reg.example:1/a/b:t@sha256:" + strings.Repeat("0a", 32), "[::1]/a", "a@b", ":", "A/b"}
}

// FuzzParse: what is taken has one form, and that form is taken for itself.
func FuzzParse(f *testing.F) {
	if len(seeds()) != 8 {
		f.Fatal("a seed is missing")
	}
	for _, s := range seeds() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, ok := image.Parse(s)
		if !ok {
			return
		}
		again, ok := image.Parse(r.String())
		if !ok || again != r {
			t.Errorf("%q is %+v, and that is %+v, %v", s, r, again, ok)
		}
		if strings.ContainsAny(r.String(), " \n\t\\?#%") || strings.Contains(r.Repository, "..") {
			t.Errorf("%q is taken, as %q", s, r)
		}
	})
}

// A name is the mesh's own by its registry alone, whatever a public one is called.
func TestNamesOfTheMesh(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"mesh.internal/base":       "base ",
		"mesh.internal/base/tools": "base tools",
		"mesh.internal/base:1":     "base ",
		"mesh.internal/a/b/c":      "own",
		"mesh.internal:80/base":    "",
		"base":                     "",
		"mesh/base":                "",
		"a.mesh.internal/base":     "",
	} {
		r, _ := image.Parse(in)
		got := ""
		if module, artifact, ok := r.Module(); ok {
			got = module + " " + artifact
		} else if r.IsOwn() {
			got = "own"
		}
		if got != want {
			t.Errorf("%s is %q, want %q", in, got, want)
		}
	}
	if image.OfModule("a", "b") != "mesh.internal/a/b" || image.OfModule("a", "") != "mesh.internal/a" {
		t.Error("the name of a module's image")
	}
}
