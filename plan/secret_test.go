package plan_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	mesh "noxmesh"
	"noxmesh/declaration"
	"noxmesh/manifest"
	"noxmesh/plan"
)

func secrets(names ...string) func(*manifest.Built) {
	return func(b *manifest.Built) {
		b.Secrets = map[string]manifest.Secret{}
		for _, name := range names {
			b.Secrets[name] = manifest.Secret{}
		}
	}
}

// keeping is facts of a node whose host fills secrets.
func keeping(assigned string, values plan.Secrets, modules ...plan.Module) plan.Facts {
	f := whole(assigned, modules...)
	*f.Can = append(*f.Can, declaration.KeepsSecrets)
	f.Secrets = values
	return f
}

func TestAFileWithSecretsIsDeclared(t *testing.T) {
	t.Parallel()
	b := declared("b", secrets("db-url", "token", "unused"),
		"file env /etc/b/env url=${secret.db-url} $${secret.token} on ${node.name} for $5 ${secret.token}${secret.db-url}", "file plain /etc/b/plain $${secret.db-url} $5")
	p := plan.Compile(keeping("b", plan.Secrets{"b": {"db-url": {3, "AAAA"}, "token": {1, "BBBB"}}, "c": {"db-url": {9, "CCCC"}}}, b))
	const template, plain = "url=${secret.db-url} $${secret.token} on laptop for $$5 ${secret.token}${secret.db-url}", "${secret.db-url} $5"
	want := []declaration.Resource{
		{ID: "b/env", Type: declaration.File, Path: "/etc/b/env", Mode: "0640", Digest: sum(template), Size: int64(len(template)), Secrets: map[string]string{"db-url": "AAAA", "token": "BBBB"}},
		{ID: "b/plain", Type: declaration.File, Path: "/etc/b/plain", Mode: "0644", Digest: sum(plain), Size: int64(len(plain))},
	}
	if diff := cmp.Diff(want, p.Body.Resources); diff != "" {
		t.Error(diff)
	}
	if p.Where.Inline[sum(template)] != template || p.Where.Inline[sum(plain)] != plain {
		t.Errorf("%q", p.Where.Inline)
	}
	if diff := cmp.Diff(map[string]map[string]int64{"b/env": {"db-url": 3, "token": 1}}, p.Versions); diff != "" {
		t.Error(diff)
	}
	if len(p.Held)+len(p.LeftOut) > 0 {
		t.Error(p.Held, p.LeftOut)
	}
}

// What has no value is left out where it is new and holds back everything where the
// node has it; it is said with what to type, before a build is declared as well.
func TestASecretWithoutAValueIsNamed(t *testing.T) {
	t.Parallel()
	b := declared("b", secrets("db-url", "token"), "file env /etc/b/env ${secret.db-url}${secret.token}")
	const why = `needs the secret "db-url", which has no value for laptop: mesh secret set b db-url --node laptop`
	const both = why + `; needs the secret "token", which has no value for laptop: mesh secret set b token --node laptop`
	p := plan.Compile(keeping("b", nil, b))
	if len(p.LeftOut) != 1 || p.LeftOut[0].Why != both || len(p.Body.Modules) > 0 {
		t.Errorf("%+v", p)
	}
	f := keeping("b", plan.Secrets{"b": {"token": {1, "BBBB"}}, "a": {"db-url": {1, "AAAA"}}}, b)
	f.Had = []string{"b"}
	if p := plan.Compile(f); len(p.Held) != 1 || p.Held[0].Why != why {
		t.Errorf("%+v", p)
	}
	content := "${secret.db-url}"
	source := plan.Module{Name: "b", Source: &manifest.Source{
		Module: "b", Secrets: map[string]manifest.Secret{"db-url": {}},
		Resources: []manifest.Resource{{ID: "env", Type: "file", Path: "/etc/env", Content: &content}},
	}}
	if p := plan.Compile(keeping("b", nil, source)); len(p.LeftOut) != 1 || p.LeftOut[0].Why != why {
		t.Errorf("%+v", p)
	}
	other := *source.Source
	if other.Resources = nil; plan.Alike(*source.Source, other) {
		t.Error("a source that needs a secret is like one that needs none")
	}
}

func TestAnOldHostIsToldNoSecret(t *testing.T) {
	t.Parallel()
	b := declared("b", secrets("db-url"), "file env /etc/b/env ${secret.db-url}")
	f := whole("b", b)
	f.Secrets = plan.Secrets{"b": {"db-url": {1, "AAAA"}}}
	const why = `has a file with a secret in it, which the host of laptop does not keep: upgrade mesh-host there`
	if p := plan.Compile(f); len(p.LeftOut) != 1 || p.LeftOut[0].Why != why {
		t.Errorf("%+v", p.LeftOut)
	}
}

// No setting and no name of a node can put a secret into a file, or change where one
// is: what the host fills is what the manifest has, with text around it.
func TestNoValueIsTakenForASecret(t *testing.T) {
	t.Parallel()
	parts := rapid.SampledFrom([]string{"$", "$$", "${", "{", "}", "${secret.a}", "$${secret.a}", "secret.a", "{secret.a}", "x", "é"})
	text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(parts, 0, 4).Draw(t, "parts"), "") })
	pieces := rapid.SampledFrom([]string{"${secret.a}", "${settings.one}", "${settings.two}", "{secret.a}", "$${", "}", "y", "${node.name}", "{"})
	rapid.Check(t, func(t *rapid.T) {
		one, two := text.Draw(t, "one"), text.Draw(t, "two")
		content := strings.Join(rapid.SliceOfN(pieces, 0, 8).Draw(t, "content"), "") + "${secret.a}"
		b := declared("b", func(b *manifest.Built) {
			secrets("a")(b)
			b.Settings = map[string]manifest.Setting{"one": {Type: manifest.StringSetting}, "two": {Type: manifest.StringSetting}}
		}, "file env /etc/b/env "+content)
		f := keeping("b", plan.Secrets{"b": {"a": {1, "AAAA"}}}, b)
		if one == "" || two == "" {
			t.Skip("a setting without a value")
		}
		f.Assigned = []mesh.Assignment{{Module: "b", Node: f.Node.ID, Settings: map[string]string{"one": one, "two": two}}}
		p := plan.Compile(f)
		if len(p.Body.Resources) != 1 {
			t.Fatalf("%+v", p.LeftOut)
		}
		r := p.Body.Resources[0]
		got, err := declaration.FillTemplate(p.Where.Inline[r.Digest], map[string][]byte{"a": []byte("\x00")})
		if err != nil {
			t.Fatal(err)
		}
		want, err := manifest.Fill(content, map[string]string{"secret.a": "\x00", "settings.one": one, "settings.two": two, "node.name": "laptop"})
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Fatalf("%q is filled as %q, want %q", content, got, want)
		}
	})
}

// A host refuses a declaration that is too large: sealed values count.
func TestSealedValuesHaveRoom(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("A", declaration.SealedLimit)
	var lines, names []string
	values := map[string]plan.Sealed{}
	for i := range 33 {
		name := "s" + string(rune('a'+i%26)) + string(rune('a'+i/26))
		names, values[name] = append(names, name), plan.Sealed{Version: 1, Text: big}
		lines = append(lines, "file "+name+" /etc/"+name+" ${secret."+name+"}")
	}
	p := plan.Compile(keeping("b", plan.Secrets{"b": values}, declared("b", secrets(names...), lines...)))
	if len(p.LeftOut) != 1 || !strings.Contains(p.LeftOut[0].Why, "with it the declaration would have up to") {
		t.Errorf("%+v", p.LeftOut)
	}
}
