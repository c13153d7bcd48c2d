package plan_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"noxmesh/declaration"
	"noxmesh/delivery/build"
	"noxmesh/document"
	"noxmesh/manifest"
	"noxmesh/plan"
)

// A container is declared with the image that its module has made, after what it is
// given of the machine, and it takes its ports.
func TestContainersAreDeclared(t *testing.T) {
	t.Parallel()
	digest := document.Sum([]byte("image"))
	web := declaration.Traits{
		Name: "web", Image: "mesh.internal/b/web@" + string(digest), Ports: []string{"8080:80"}, Volumes: []string{"/etc/b:/etc/b:ro", "/srv/deep/data:/data"},
		Env: map[string]string{"NODE": "${node.name}"}, Command: declaration.Command{Words: []string{"serve", "${node.name}"}}, User: "12",
	}
	b := declared("b", holding(
		manifest.BuiltResource{ID: "etc", Type: "directory", Path: "/etc/b"},
		manifest.BuiltResource{ID: "conf", Type: "link", Path: "/etc/b/x", Target: "y"},
		manifest.BuiltResource{ID: "far", Type: "link", Path: "/etc/bb", Target: "y"},
		account("user", "user", declaration.Traits{Name: "u"}),
		account("web", "container", web),
	))
	b.Declared.Where = build.Where{Blobs: map[document.Digest]int64{digest: 5}}
	a := declared("a", holding(manifest.BuiltResource{ID: "srv", Type: "directory", Path: "/srv/deep"}))
	p := plan.Compile(whole("a b", a, b))
	filled := web
	filled.Env, filled.Command = map[string]string{"NODE": "laptop"}, declaration.Command{Words: []string{"serve", "laptop"}}
	want := declaration.Resource{ID: "b/web", Type: declaration.Container, Traits: &filled, After: []string{"b/etc", "a/srv", "b/conf", "b/user"}}
	if len(p.Body.Resources) != 6 {
		t.Fatalf("%+v", p)
	}
	if diff := cmp.Diff(want, p.Body.Resources[5]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[document.Digest]declaration.Blob{digest: {Repository: "b", Size: 5}}, p.Where.Blobs); diff != "" {
		t.Error(diff)
	}
	if web.Env["NODE"] != "${node.name}" || web.Command.Words[1] != "${node.name}" {
		t.Error("what was declared has been filled in, and not a copy of it")
	}
}

func TestContainersTakeTheirPorts(t *testing.T) {
	t.Parallel()
	web := func(name, port string) manifest.BuiltResource {
		return account(name, "container", declaration.Traits{Name: name, Image: "docker.io/library/nginx@" + string(document.Sum(nil)), Ports: []string{port}})
	}
	check(t, []compileCase{
		{
			name: "in two modules", facts: whole("a b", declared("a", holding(web("w", "80:80"))), declared("b", holding(web("v", "127.0.0.1:80:8080")))), body: "a", wanted: "a b",
			leftOut: `b: it claims tcp:80, which "a" has`,
		},
		{
			name: "in one", facts: whole("a", declared("a", holding(web("w", "80:80"), web("v", "80:81")))), wanted: "a",
			leftOut: `a: resource "a/v": it claims tcp:80, which "a/w" has`,
		},
		{name: "of another protocol", facts: whole("a", declared("a", holding(web("w", "80:80"), web("v", "80:81/udp")))), body: "a"},
		{
			name: "an image that nobody has made", facts: whole("a", declared("a", holding(account("w", "container", declaration.Traits{Name: "w", Image: "mesh.internal/a/w@" + string(document.Sum(nil))})))), wanted: "a",
			leftOut: "a: resource \"w\": the record does not say where image " + document.Sum(nil).Short() + " is",
		},
	})
}

func TestANodeThatRunsNoContainers(t *testing.T) {
	t.Parallel()
	const older = "has a resource of type container, which the host of laptop does not keep: upgrade mesh-host there; one that keeps a folder and no machine never does"
	for _, c := range []struct{ can, host, want string }{
		{can: "apt systemd", want: "has a resource of type container, and the node has neither podman nor docker: require a module that has a resource of type package with the name podman"},
		{can: "container-runtime docker", want: older},
		{can: "container-runtime docker", host: "1.2.3", want: "has a resource of type container, and the node has docker's daemon without the docker command: require a module that has a resource of type package with the name docker-cli"},
		{can: "podman systemd", want: older},
	} {
		f := facts("a", "", declared("a", holding(account("w", "container", declaration.Traits{Name: "w", Image: "docker.io/library/nginx@" + string(document.Sum(nil))}))))
		has := strings.Fields(c.can)
		f.Can, f.Host, f.Version = &has, c.host, c.host
		if p := plan.Compile(f); len(p.LeftOut) != 1 || p.LeftOut[0].Why != c.want {
			t.Errorf("%s: %+v", c.can, p.LeftOut)
		}
	}
}
