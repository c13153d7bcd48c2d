package line

import (
	"fmt"
	"reflect"
	"testing"

	"noxmesh/api"
	"noxmesh/status"
)

// goLibrary is a module that others are built against, and goApp one that is.
func goLibrary(text string) files {
	return files{
		"module.json": `{"module": "lib", "build": {"test": [["true"]], "artifacts": {"sdk": {"type": "library", "language": "go"}}}}`,
		"go.mod":      "module example.com/lib\n\ngo 1.24\n", "lib.go": fmt.Sprintf("package lib\n\nfunc Name() string { return %q }\n", text),
		"lib_test.go": "package lib\n",
	}
}

func goApp() files {
	return files{
		"module.json": `{"module": "app", "resources": [{"id": "app", "type": "archive", "artifact": "app", "path": "/opt/app"}],
			"build": {"run": [["mkdir", "out"], ["sh", "-c", "go run . 2>out/says"]], "artifacts": {"app": {"type": "archive", "path": "out"}}}}`,
		"go.mod": "module example.com/app\n\ngo 1.24\n\nrequire example.com/lib v0.0.0\n", "main.go": "package main\n\nimport \"example.com/lib\"\n\nfunc main() { print(lib.Name()) }\n",
	}
}

// A change to a library's test builds the library again and goes no further: no
// other module, no declaration, no machine. A change to its code is built, and
// then whatever is built against it, and goes out.
func TestAChangeGoesAsFarAsItIsCompiled(t *testing.T) {
	t.Parallel()
	m := start(t, options{hosts: 1, builders: 1})
	m.needsSandbox()
	lib := m.module("lib", goLibrary("first"))
	app := m.module("app", goApp())
	m.assign("app", "node1")
	m.auto("app")
	m.until("the app is out", func(s status.Status) string { return isFit("lib", lib)(s) + isOut("app", app, 1)(s) })
	m.until("it is built against the library", func(s status.Status) string {
		if m.read("node1", "opt/app/says") == "first" {
			return ""
		}
		return line(s, "app")
	})
	builds := func(module string) []api.BuildOut { return do(m, api.Builds(), api.BuildsIn{Module: module}).Builds }
	content := func() string { return moduleOf(m.now(), "app").Built.Content }
	accepted := func() string { return do(m, api.NodeShow(), api.NodeIn{Node: "node1"}).Accepted }
	m.poll("its hello says the first", func() string { return m.differs("node1", "1/1") }) // it comes beside the report
	was, declared, before := builds("app"), accepted(), content()

	lib = m.forge.commit("lib", files{"lib_test.go": "package lib\n\n// changed\n", "README.md": "words"})
	m.until("the library is built again", isFit("lib", lib))
	m.until("the app is current", isOut("app", app, 1))
	if now := builds("app"); !reflect.DeepEqual(now, was) {
		t.Errorf("a change to the library's test built the app: %+v, then %+v", was, now)
	}
	if now := accepted(); now != declared || content() != before {
		t.Errorf("a change to the library's test made the declaration %s of %s, and the app %s of %s", now, declared, content(), before)
	}

	lib = m.forge.commit("lib", files{"lib.go": "package lib\n\nfunc Name() string { return \"second\" }\n"})
	m.until("the change is out", func(s status.Status) string {
		if why := isFit("lib", lib)(s) + isOut("app", app, 1)(s); why != "" {
			return why
		}
		if m.read("node1", "opt/app/says") == "second" {
			return ""
		}
		return line(s, "app")
	})
	all := builds("app")
	if len(all) != len(was)+1 || content() == before {
		t.Errorf("the app's builds are %+v, and were %+v", all, was)
	}
	for _, l := range builds("lib") {
		if l.Commit == lib && !all[0].Began.After(l.Ended) {
			t.Errorf("the app was built at %s, and the library it is built against until %s", all[0].Began, l.Ended)
		}
	}
}
