package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"noxmesh/declaration"
	"noxmesh/delivery/artifact"
	"noxmesh/manifest"
	"noxmesh/plan"
)

// holding is a module with these resources beside its own.
func holding(resources ...manifest.BuiltResource) func(*manifest.Built) {
	return func(m *manifest.Built) { m.Resources = append(m.Resources, resources...) }
}

// whole is facts of a node that keeps whatever a host can.
func whole(assigned string, modules ...plan.Module) plan.Facts {
	f := facts(assigned, "", modules...)
	var can []string
	for _, t := range declaration.Types() {
		if !t.IsFile() {
			can = append(can, declaration.Keeps(t))
		}
	}
	can = append(can, declaration.KeepsOwner, declaration.KeepsSwap, declaration.KeepsCheckCommand)
	f.Can = &can
	return f
}

func account(id, kind string, t declaration.Traits, after ...string) manifest.BuiltResource {
	return manifest.BuiltResource{ID: id, Type: kind, Traits: &t, After: after}
}

func TestWhatIsNoFileIsDeclared(t *testing.T) {
	t.Parallel()
	p := plan.Compile(whole("a b",
		declared("a", holding(account("team", "group", declaration.Traits{Name: "team", GID: 7}))),
		declared("b", holding(
			manifest.BuiltResource{ID: "etc", Type: "directory", Path: "/etc/b"},
			account("own", "group", declaration.Traits{Name: "own"}, "etc"),
			account("user", "user", declaration.Traits{Name: "u-${node.name}", Group: "own", Groups: []string{"team", "audio"}, Home: "/srv/${node.name}"}),
			manifest.BuiltResource{ID: "conf", Type: "link", Path: "/etc/b/x", Target: "y", After: []string{"user"}, Traits: &declaration.Traits{Drift: declaration.DriftReport}},
			manifest.BuiltResource{ID: "d", Type: "directory", Path: "/srv/d", Traits: &declaration.Traits{}},
		))))
	want := []declaration.Resource{
		{ID: "a/team", Type: declaration.Group, Traits: &declaration.Traits{Name: "team", GID: 7}},
		{ID: "b/etc", Type: declaration.Directory, Path: "/etc/b", Mode: "0755"},
		{ID: "b/own", Type: declaration.Group, Traits: &declaration.Traits{Name: "own"}, After: []string{"b/etc"}},
		{
			ID: "b/user", Type: declaration.User, After: []string{"b/own", "a/team"},
			Traits: &declaration.Traits{Name: "u-laptop", Group: "own", Groups: []string{"team", "audio"}, Home: "/srv/laptop"},
		},
		{ID: "b/conf", Type: declaration.Link, Path: "/etc/b/x", Target: "y", After: []string{"b/user", "b/etc"}, Traits: &declaration.Traits{Drift: declaration.DriftReport}},
		{ID: "b/d", Type: declaration.Directory, Path: "/srv/d", Mode: "0755"},
	}
	if diff := cmp.Diff(want, p.Body.Resources); diff != "" {
		t.Errorf("%v %s", p.LeftOut, diff)
	}
}

func TestTwoModulesDoNotHaveOneUser(t *testing.T) {
	t.Parallel()
	user := func(id, name string) manifest.BuiltResource {
		return account(id, "user", declaration.Traits{Name: name})
	}
	check(t, []compileCase{
		{
			name: "in two modules", facts: whole("a b", declared("a", holding(user("u", "x"))), declared("b", holding(user("v", "x")))), body: "a", wanted: "a b",
			leftOut: `b: it claims user x, which "a" has`,
		},
		{
			name: "in one, filled in", facts: whole("a", declared("a", holding(user("u", "laptop"), user("v", "${node.name}")))), wanted: "a",
			leftOut: `a: resource "v": it is user laptop, and so is "u"`,
		},
		{
			name: "no name any more", facts: whole("a", declared("a", holding(user("u", "${node.name}:x")))), wanted: "a",
			leftOut: `a: resource "u": its name: "laptop:x" is not the name of a user or a group, want lower-case letters, digits, _ and -, not a digit first, at most 32`,
		},
		{name: "a user and a group", facts: whole("a", declared("a", holding(user("u", "x"), account("g", "group", declaration.Traits{Name: "x"})))), body: "a"},
	})
}

func TestAServiceComesAfterWhatItStandsOn(t *testing.T) {
	t.Parallel()
	file := func(id, path string) manifest.BuiltResource {
		return manifest.BuiltResource{ID: id, Type: "directory", Path: path}
	}
	unit := "app@${node.name}.service"
	p := plan.Compile(whole("a b",
		declared("b", holding(account("other", "user", declaration.Traits{Name: "other"}))),
		declared("a", holding(
			file("conf", "/etc/app"), file("far", "/srv/far"), account("user", "user", declaration.Traits{Name: "app"}),
			file("template", "/etc/systemd/system/app@.service"), file("more", "/etc/systemd/system/app@laptop.service.d/x"), file("else", "/etc/systemd/system/app@other.service"),
			account("run", "service", declaration.Traits{Unit: unit, State: "running", RestartOn: []string{"conf", "template"}}),
			account("tick", "service", declaration.Traits{Unit: "app.timer", State: "stopped"}, "run"),
		))))
	got := map[string][]string{}
	for _, r := range p.Body.Resources {
		if r.Type == declaration.Service {
			got[r.Called()] = append(append([]string{}, r.RestartOn...), append([]string{"|"}, r.After...)...)
		}
	}
	want := map[string][]string{
		"app@laptop.service": {"a/conf", "a/template", "|", "a/user", "a/more"},
		"app.timer":          {"|", "a/run", "a/user"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%v %v %s", p.LeftOut, p.Held, diff)
	}
}

func TestAPackageComesAfterWhatSaysWhereItIs(t *testing.T) {
	t.Parallel()
	dir := func(id, path string) manifest.BuiltResource {
		return manifest.BuiltResource{ID: id, Type: "directory", Path: path}
	}
	p := plan.Compile(whole("a b",
		declared("b", holding(dir("key", "/etc/apt/keyrings/b"), account("other", "user", declaration.Traits{Name: "other"}))),
		declared("a", holding(
			dir("key", "/usr/share/keyrings/a"), dir("source", "/etc/apt/sources.list.d/a"), dir("conf", "/etc/app"),
			dir("repo", "/etc/yum.repos.d/a"), dir("dnf", "/etc/dnf/vars/a"), dir("trust", "/etc/pki/rpm-gpg/a"),
			account("before", "user", declaration.Traits{Name: "before"}),
			account("app", "package", declaration.Traits{Name: "app-${node.name}", Version: "1.0-${node.name}"}),
			account("user", "user", declaration.Traits{Name: "app"}),
			account("run", "service", declaration.Traits{Unit: "app.service", State: "running"}),
		))))
	got := map[string][]string{}
	for _, r := range p.Body.Resources {
		if !r.Type.IsFile() {
			got[r.Called()+r.Version] = r.After
		}
	}
	want := map[string][]string{
		"other": nil, "before": nil, "app-laptop1.0-laptop": {"a/key", "a/source", "a/repo", "a/dnf", "a/trust", "a/before"}, "app": {"a/app"},
		"app.service": {"a/before", "a/app", "a/user"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%v %v %s", p.LeftOut, p.Held, diff)
	}
}

func TestWhatBelongsToSomebodyComesAfterThem(t *testing.T) {
	t.Parallel()
	dir := func(id, path, owner, group string) manifest.BuiltResource {
		return manifest.BuiltResource{ID: id, Type: "directory", Path: path, Traits: &declaration.Traits{Owner: owner, Group: group}}
	}
	p := plan.Compile(whole("a b",
		declared("a", holding(account("team", "group", declaration.Traits{Name: "team"}))),
		declared("b", holding(
			dir("before", "/before", "user-laptop", ""), account("more", "package", declaration.Traits{Name: "more"}),
			account("user", "user", declaration.Traits{Name: "user-${node.name}"}),
			dir("top", "/top", "user-${node.name}", "7"), dir("in", "/top/in", "", "team"), dir("brought", "/brought", "user-laptop", "www-data"), dir("number", "/number", "7", ""),
		))))
	got := map[string][]string{}
	for _, r := range p.Body.Resources {
		if r.Type == declaration.Directory {
			got[r.Path] = r.After
		}
	}
	want := map[string][]string{
		"/before": nil, "/top": {"b/user"}, "/top/in": {"a/team", "b/top"}, "/brought": {"b/user", "b/more"}, "/number": nil,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%v %v %s", p.LeftOut, p.Held, diff)
	}
}

func TestASysctlIsOneModules(t *testing.T) {
	t.Parallel()
	p := plan.Compile(whole("a b",
		declared("a", holding(account("tools", "package", declaration.Traits{Name: "procps"}), account("f", "sysctl", declaration.Traits{Name: "net.ipv4.ip_forward", Value: "${node.name} 1"}))),
		declared("b", holding(account("f", "sysctl", declaration.Traits{Name: "net/ipv4/ip_forward", Value: "0"})))))
	want := []declaration.Resource{
		{ID: "a/tools", Type: declaration.Package, Traits: &declaration.Traits{Name: "procps"}},
		{ID: "a/f", Type: declaration.Sysctl, Traits: &declaration.Traits{Name: "net.ipv4.ip_forward", Value: "laptop 1"}, After: []string{"a/tools"}},
	}
	if diff := cmp.Diff(want, p.Body.Resources); diff != "" {
		t.Errorf("%v %s", p.LeftOut, diff)
	}
	if got := fmt.Sprint(p.LeftOut); !strings.Contains(got, `it claims sysctl net.ipv4.ip_forward, which "a" has`) {
		t.Error(got)
	}
}

func TestWhatIsMountedComesBeforeWhatLiesBelow(t *testing.T) {
	t.Parallel()
	at := func(id, kind, path string) manifest.BuiltResource {
		r := manifest.BuiltResource{ID: id, Type: kind, Path: path}
		if kind == "mount" {
			r.Traits = &declaration.Traits{Source: "${node.name}:/x", FSType: "nfs"}
		}
		return r
	}
	p := plan.Compile(whole("a b c d e",
		declared("a", holding(account("nfs", "package", declaration.Traits{Name: "nfs-common"}), at("srv", "directory", "/srv"), at("data", "mount", "/srv/data"), at("own", "directory", "/srv/data/own"))),
		declared("b", holding(at("more", "mount", "/srv/data/b"), at("in", "directory", "/srv/data/b/x"))),
		declared("c", holding(at("same", "directory", "/srv/data"))),
		declared("d", holding(at("same", "mount", "/srv/data"))),
		declared("e", holding(at("state", "mount", "/var"))),
	))
	got := map[string][]string{}
	for _, r := range p.Body.Resources {
		if r.Path != "" {
			got[r.Path] = r.After
		}
	}
	want := map[string][]string{
		"/srv": nil, "/srv/data": {"a/srv", "a/nfs"}, "/srv/data/own": {"a/data"}, "/srv/data/b": {"a/data"}, "/srv/data/b/x": {"b/more"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%v %v %s", p.LeftOut, p.Held, diff)
	}
	for _, why := range []string{`it claims /srv/data, which "a" has`, `it claims mount /srv/data, which "a" has`, `its path "/var" is above what is the host's own`} {
		if got := fmt.Sprint(p.LeftOut); !strings.Contains(got, why) {
			t.Errorf("%s: %s", why, got)
		}
	}
}

func TestChecksAreDeclared(t *testing.T) {
	t.Parallel()
	check := func(id string) manifest.BuiltResource {
		return account(id, "check", declaration.Traits{HTTP: "http://127.0.0.1:80/${node.name}", Status: 204})
	}
	bad := account("bad", "check", declaration.Traits{TCP: "${node.name}"})
	runs := account("runs", "check", declaration.Traits{Command: declaration.Command{Name: "raid-${node.name}"}})
	p := plan.Compile(whole("a b c d", declared("a", holding(check("one"), check("two"))), declared("b", holding(check("one"))), declared("c", holding(bad)), declared("d", holding(runs))))
	said := func(id string) declaration.Resource {
		return declaration.Resource{ID: id, Type: declaration.Check, Traits: &declaration.Traits{HTTP: "http://127.0.0.1:80/laptop", Status: 204}}
	}
	if diff := cmp.Diff([]declaration.Resource{said("a/one"), said("a/two"), said("b/one"), {ID: "d/runs", Type: declaration.Check, Traits: &declaration.Traits{Command: declaration.Command{Name: "raid-laptop"}}}}, p.Body.Resources); diff != "" {
		t.Errorf("%v %s", p.LeftOut, diff)
	}
	if got := fmt.Sprint(p.LeftOut); !strings.Contains(got, `resource "bad": its tcp: "laptop" is no address of TCP, want it as 127.0.0.1:5432`) {
		t.Error(got)
	}
}

// A host that does not know a type would refuse all that it is told: it is told
// nothing of the module, and people are told why.
func TestAnOldHostIsToldNothingThatItDoesNotKeep(t *testing.T) {
	t.Parallel()
	user := declared("a", holding(account("u", "user", declaration.Traits{Name: "x"})))
	site := declared("b", nil, "directory d /srv")
	old, had, unheard := facts("a b", "", user, site), facts("a b", "a", user, site), facts("a b", "", user, site)
	old.Can, had.Can = &[]string{"systemd"}, &[]string{"keeps-group"}
	owned := declared("c", holding(manifest.BuiltResource{ID: "d", Type: "directory", Path: "/d", Traits: &declaration.Traits{Owner: "root"}}))
	shared := declared("c", holding(manifest.BuiltResource{ID: "d", Type: "directory", Path: "/d", Mode: "2775"}))
	mine, ours, unknown := facts("b c", "", site, owned), facts("b c", "c", site, shared), facts("b c", "", site, shared)
	mine.Can, ours.Can = &[]string{"keeps-group"}, &[]string{"keeps-group"}
	whole := declared("c", func(m *manifest.Built) {
		for i := range m.Resources {
			m.Resources[i].Traits = &declaration.Traits{Swap: true}
		}
	}, "archive d /srv/c A")
	swaps := facts("b c", "", site, whole)
	swaps.Can = &[]string{declaration.KeepsOwner}
	runs := declared("c", holding(account("r", "check", declaration.Traits{Command: declaration.Command{Name: "raid"}})))
	asks := facts("b c", "", site, runs)
	asks.Can = &[]string{"keeps-check"}
	const what = `has a resource with an owner, a group, or a mode above 0777`
	const lacks = what + `, which the host of laptop does not keep: upgrade mesh-host there; one that keeps a folder and no machine never does`
	check(t, []compileCase{
		{name: "an owner", facts: mine, body: "b", wanted: "b c", leftOut: "c: " + lacks},
		{name: "a mode, and the node has it", facts: ours, body: "b", wanted: "b c", held: "c: " + lacks},
		{
			name: "a swap", facts: swaps, body: "b", wanted: "b c",
			leftOut: "c: has an archive that is swapped, which the host of laptop does not keep: upgrade mesh-host there; one that keeps a folder and no machine never does",
		},
		{
			name: "a command", facts: asks, body: "b", wanted: "b c",
			leftOut: "c: has a check that runs a command, which the host of laptop does not keep: upgrade mesh-host there; one that keeps a folder and no machine never does",
		},
		{name: "a mode, and nothing was heard yet", facts: unknown, body: "b", wanted: "b c", leftOut: "c: " + what + ", and the node has not reported yet which its host keeps"},
	})
	const why = `has a resource of type user, which the host of laptop does not keep: upgrade mesh-host there; one that keeps a folder and no machine never does`
	check(t, []compileCase{
		{name: "new to the node", facts: old, body: "b", wanted: "a b", leftOut: "a: " + why},
		{name: "the node has it", facts: had, body: "b", wanted: "a b", held: "a: " + why},
		{name: "not heard of yet", facts: unheard, body: "b", wanted: "a b", leftOut: "a: has a resource of type user, and the node has not reported yet which its host keeps"},
	})
}

// Which node needs which version of the host is said with what it needs it for; and
// where the version is not why, that is said.
func TestWhichVersionOfTheHostANodeNeeds(t *testing.T) {
	t.Parallel()
	const never = "; one that keeps a folder and no machine never does"
	user, pkg := account("r", "user", declaration.Traits{Name: "x"}), account("r", "package", declaration.Traits{Name: "x"})
	unit := account("r", "service", declaration.Traits{Unit: "a.service", State: "running"})
	for _, c := range []struct {
		name, host, version string
		can                 []string
		of                  manifest.BuiltResource
		why, needs          string
	}{
		{"an older one", "1.3.0", "v1.4.0", nil, user, "has a resource of type user, which the host of laptop (mesh-host 1.3.0) does not keep: upgrade it to 1.4.0, or later" + never, "1.4.0"},
		{"between two releases", "1.3.0", "v1.3.0-2-gab12cd3", nil, user, "has a resource of type user, which the host of laptop (mesh-host 1.3.0) does not keep: upgrade it to 1.3.0+2.gab12cd3, or later" + never, "1.3.0+2.gab12cd3"},
		{"as new as the controller", "1.4.0", "v1.4.0", nil, user, "has a resource of type user, which the host of laptop does not keep, though mesh-host 1.4.0 is as new as this controller: one that keeps a folder and no machine never does", ""},
		{"nobody knows which", "", "v1.4.0", nil, user, "has a resource of type user, which the host of laptop does not keep: upgrade mesh-host there" + never, ""},
		{"no apt", "1.3.0", "v1.4.0", []string{"systemd"}, pkg, "has a resource of type package, and the host of laptop sees neither apt nor dnf there", ""},
		{"dnf, and an older one", "1.3.0", "v1.4.0", []string{"dnf"}, pkg, "has a resource of type package, which the host of laptop (mesh-host 1.3.0) does not keep: upgrade it to 1.4.0, or later" + never, "1.4.0"},
		{"a name of rpm's", "1.4.0", "v1.4.0", []string{"apt", "keeps-package"}, account("r", "package", declaration.Traits{Name: "NetworkManager"}), "has a package that only rpm can have, NetworkManager, and the host of laptop sees no dnf there", ""},
		{"a version of rpm's", "1.4.0", "v1.4.0", []string{"apt", "keeps-package"}, account("r", "package", declaration.Traits{Name: "x", Version: "1_0-1"}), "has a package that only rpm can have, x 1_0-1, and the host of laptop sees no dnf there", ""},
		{"apt, and an older one", "1.3.0", "v1.4.0", []string{"apt"}, pkg, "has a resource of type package, which the host of laptop (mesh-host 1.3.0) does not keep: upgrade it to 1.4.0, or later" + never, "1.4.0"},
		{"no systemd", "1.3.0", "v1.4.0", []string{"apt"}, unit, "has a resource of type service, and laptop does not run systemd", ""},
	} {
		for _, had := range []string{"", "a"} {
			f := facts("a b", had, declared("a", holding(c.of)), declared("b", nil, "directory d /srv"))
			f.Can, f.Host, f.Version = &c.can, c.host, c.version
			p := plan.Compile(f)
			if got := append(p.LeftOut, p.Held...); len(got) != 1 || got[0] != (plan.Reason{Module: "a", Why: c.why, Host: c.needs}) {
				t.Errorf("%s: %+v", c.name, got)
			}
			if got := plan.Conflicts(f); len(got) != 1 || got[0].Why != c.why || got[0].Host != c.needs {
				t.Errorf("%s, at assignment: %+v", c.name, got)
			}
		}
	}
}

// What the node has of a module stays where its host is too old for what is declared,
// and all else goes on; unless that cannot be kept either, or nobody knows what it is.
func TestWhatANodeHasStaysUntilItsHostIsNewEnough(t *testing.T) {
	t.Parallel()
	user := account("r", "user", declaration.Traits{Name: "x"})
	newer, older := declared("a", holding(user), "directory d /srv/a"), declared("a", nil, "directory d /srv/a")
	with := func(before *artifact.Build, had string, can ...string) plan.Facts {
		m := newer
		m.Before = before
		f := facts("a b", had, m, declared("b", nil, "directory d /srv/b"))
		f.Can, f.Host, f.Version = &can, "1.3.0", "1.4.0"
		return f
	}
	const lacks = "has a resource of type user, which the host of laptop (mesh-host 1.3.0) does not keep: upgrade it to 1.4.0, or later; one that keeps a folder and no machine never does"
	check(t, []compileCase{
		{name: "it stays", facts: with(older.Declared, "a b"), body: "a b", wanted: "a b", leftOut: "a: " + lacks + "; what the node has of it stays until then"},
		{name: "it is new enough", facts: with(older.Declared, "a b", "keeps-user"), body: "a b", wanted: "a b"},
		{name: "nobody knows what it has", facts: with(nil, "a b"), body: "b", wanted: "a b", held: "a: " + lacks},
		{name: "what it has is not kept either", facts: with(newer.Declared, "a b"), body: "b", wanted: "a b", held: "a: " + lacks},
		{name: "it has none of it", facts: with(older.Declared, "b"), body: "b", wanted: "a b", leftOut: "a: " + lacks},
	})
	p := plan.Compile(with(older.Declared, "a b"))
	if len(p.Body.Resources) != 2 || p.LeftOut[0].Host != "1.4.0" {
		t.Errorf("%+v", p)
	}
	for version, want := range map[string]bool{"1.3.0": false, "v1.3.0": false, "1.4.0": true, "": false} {
		f := with(nil, "a b")
		f.Version = version
		if got := f.Outgrown(newer.Declared.Manifest); got != want {
			t.Errorf("a controller of version %q: outgrown %v", version, got)
		}
		if f.Outgrown(older.Declared.Manifest) {
			t.Errorf("a controller of version %q: too old for a directory", version)
		}
	}
}
