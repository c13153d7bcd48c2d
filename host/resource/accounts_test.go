package resource

import (
	"strings"
	"testing"

	"noxmesh/declaration"
	"noxmesh/report"
)

// A folder has users and groups in its own files, which are read, and no program
// that would change them.
func TestUsersOfAFolder(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.plant("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\nboard:x:712:713::/srv:/bin/false\nboard:x:1:1::/other:/bin/sh\nnot a line\nbad:x:one:1::/:/\n")
	m.plant("/etc/group", "root:x:0:\nboard:x:713:\naudio:x:29:board,root\nshort:x\n")
	group := func(t declaration.Traits) declaration.Resource {
		return declaration.Resource{ID: "m/g", Type: declaration.Group, Traits: &t}
	}
	user := func(t declaration.Traits) declaration.Resource {
		return declaration.Resource{ID: "m/u", Type: declaration.User, Traits: &t}
	}
	m.wantStates("g ok, u ok", group(declaration.Traits{Name: "board", GID: 713}),
		user(declaration.Traits{Name: "board", UID: 712, Group: "board", Groups: []string{"audio"}, Home: "/srv", Shell: "/bin/false"}))
	for want, r := range map[string]declaration.Resource{
		"uid 712":                     user(declaration.Traits{Name: "board", UID: 7}),
		"group board":                 user(declaration.Traits{Name: "board", Group: "audio"}),
		"home /srv":                   user(declaration.Traits{Name: "board", Home: "/home"}),
		"not in board":                user(declaration.Traits{Name: "board", Groups: []string{"audio", "board"}}),
		"home /srv, shell /bin/false": user(declaration.Traits{Name: "board", Shell: "/bin/sh", Home: "/x"}),
		"gid 713":                     group(declaration.Traits{Name: "board", GID: 7}),
		"nothing":                     user(declaration.Traits{Name: "bad"}),
	} {
		res := m.apply(r).Resources[0]
		if res.State != report.StateFailed || res.Found != want {
			t.Errorf("got %+v, want %s", res, want)
		}
	}
	if keeps := m.engine.Keeps(); len(keeps) > 0 {
		t.Errorf("a folder keeps %v", keeps)
	}
	res := m.apply(group(declaration.Traits{Name: "short"})).Resources[0]
	if want := `change "group short": this host keeps the folder "`; !strings.HasPrefix(res.Error, want) || !strings.HasSuffix(res.Error, `", and "groupadd" works on a machine`) {
		t.Errorf("got  %s\nwant %s…", res.Error, want)
	}
}
