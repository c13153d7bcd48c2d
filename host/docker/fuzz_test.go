package docker

import (
	"strings"
	"testing"

	"noxmesh/document/documenttest"
	"noxmesh/host/container"
)

// answers are what docker has answered, and what it has not: of containers, of one
// container, of an image, of an image that it was to take in, and of what it refuses.
func answers() []string {
	return []string{
		`[{"Id":"32","Names":["/web","/other/web"],"Image":"sha256:38","ImageID":"sha256:38","Labels":{"mesh.container":"web","mesh.image":"mesh.internal/m/web:38"},"State":"running","Status":"Up 1 second"}]`,
		`[{"Id":"1","Names":null,"State":"dead","Labels":null}]`,
		`{"Id":"32","State":{"Status":"running","Running":true,"Health":{"Status":"unhealthy","FailingStreak":1,"Log":[{"ExitCode":1,"Output":"one\ntwo\n"}]}}}`,
		`{"Id":"32","State":{"Status":"running","Health":{"Status":"none","Log":null}}}`,
		`{"Id":"sha256:38","RepoTags":["a/b:c"],"RepoDigests":["a/b@sha256:12"],"Config":{"Healthcheck":{"Test":["CMD","/x"],"Interval":1000000000,"Retries":1}}}`,
		`{"Id":"sha256:38","RepoDigests":[],"Config":null}`,
		"{\"stream\":\"Loaded image: a/b:c\\n\"}\r\n",
		"{\"status\":\"Loading layer\",\"progressDetail\":{\"current\":1}}\r\n{\"errorDetail\":{\"message\":\"invalid diffID\"},\"error\":\"invalid diffID\"}\r\n",
		`{"message":"No such image: nope:1"}`,
		"<html>",
	}
}

// fuzzed is a target of one decoder of what docker answers.
func fuzzed(f *testing.F, holds func(t *testing.T, text []byte)) {
	f.Helper()
	if len(answers()) != 10 {
		f.Fatal("a seed is missing")
	}
	for _, s := range answers() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		defer documenttest.Bounded(t, len(text))()
		holds(t, text)
	})
}

// FuzzParseContainers: what is taken for a container has a name that it could have been
// given, and is the mesh's where it says that name of itself.
func FuzzParseContainers(f *testing.F) {
	fuzzed(f, func(t *testing.T, text []byte) {
		all, err := parseContainers(text)
		if err != nil && (all != nil || err.Error() == "") {
			t.Errorf("%v, and %+v", err, all)
		}
		for _, c := range all {
			if strings.Contains(c.Name, "/") || c.Ours() && c.Labels[container.NameLabel] != c.Name {
				t.Errorf("%+v", c)
			}
		}
	})
}

// FuzzParseHealth: what a check said is one line that can be shown.
func FuzzParseHealth(f *testing.F) {
	fuzzed(f, func(t *testing.T, text []byte) {
		is, err := parseHealth(text)
		if err != nil && is != (container.Health{}) || strings.ContainsRune(is.Says, '\n') || len(is.Says) > 500 {
			t.Errorf("%v, and %+v", err, is)
		}
	})
}

// FuzzParseImage: an image is told apart by something, and its check can be carried out.
func FuzzParseImage(f *testing.F) {
	fuzzed(f, func(t *testing.T, text []byte) {
		is, err := parseImage(text)
		if err == nil && (is.ID == "" || !is.Is(is.ID) || is.Is("") || is.Check != nil && is.Check.Sound() == nil) {
			t.Errorf("%+v", is)
		}
	})
}

// FuzzParseLoaded: what has gone wrong is said in one line, and what is no answer is an
// error.
func FuzzParseLoaded(f *testing.F) {
	fuzzed(f, func(t *testing.T, text []byte) {
		why, err := parseLoaded(text)
		if err != nil && why != "" || strings.ContainsRune(why, '\n') {
			t.Errorf("%v, and %q", err, why)
		}
	})
}

// FuzzParseRefusal: there is always something to show.
func FuzzParseRefusal(f *testing.F) {
	fuzzed(f, func(t *testing.T, text []byte) {
		if said := parseRefusal(text); said == "" || strings.ContainsRune(said, '\n') {
			t.Errorf("%q", said)
		}
	})
}
