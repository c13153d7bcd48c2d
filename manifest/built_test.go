package manifest_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/manifest"
)

func digest(s string) document.Digest { return document.Sum([]byte(s)) }

func provenance() manifest.Provenance {
	return manifest.Provenance{
		Commit: strings.Repeat("a", 40), Tree: strings.Repeat("b", 40), Platform: "linux/amd64",
		Closure: []manifest.Input{{Module: "lib", Artifact: "go", Digest: digest("2")}, {Module: "base", Artifact: "go", Digest: digest("1")}},
	}
}

func derived(t *testing.T) manifest.Built {
	t.Helper()
	s, err := manifest.DecodeSource("module.json", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	b, err := manifest.Derive(s, provenance(), map[string]manifest.Resolved{
		"site": {Digest: digest("index"), Size: 99}, "unit": {Digest: digest("unit"), Size: 4},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDerive(t *testing.T) {
	t.Parallel()
	b := derived(t)
	if b.Resources[0].Digest != digest("index") || b.Resources[0].Size != 0 {
		t.Errorf("an archive has its index's digest and no size: %+v", b.Resources[0])
	}
	if b.Resources[2].Digest != digest("unit") || b.Resources[2].Size != 4 {
		t.Errorf("a file has its digest and size: %+v", b.Resources[2])
	}
	if b.Built.Closure[0].Module != "base" {
		t.Errorf("the closure is not sorted: %+v", b.Built.Closure)
	}
	encoded, err := b.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"artifact\":\"site", "meshboard.service\",\"id", "npm", "$schema", `"from"`} {
		if strings.Contains(string(encoded), word) {
			t.Errorf("%s reached the built manifest", word)
		}
	}
	golden(t, "built.json", encoded)
	again, err := manifest.DecodeBuilt("built", encoded)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(b, again); d != "" {
		t.Error(d)
	}
	if got, err := b.BuildDigest(); err != nil || got != document.Sum(encoded) {
		t.Errorf("the build is %s of other bytes, %v", got, err)
	}
}

func TestDeriveNeedsWhatWasMade(t *testing.T) {
	t.Parallel()
	s, err := manifest.DecodeSource("module.json", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := manifest.Derive(s, provenance(), map[string]manifest.Resolved{"site": {Digest: digest("i")}}); fault.KindOf(err) != fault.Broken {
		t.Errorf("got %v", err)
	}
}

// Where a build came from is no part of its content, and everything else is.
func TestContentIsAllButWhereItCameFrom(t *testing.T) {
	t.Parallel()
	before := derived(t)
	content, _ := before.ContentDigest()
	build, _ := before.BuildDigest()
	moved := derived(t)
	moved.Built.Commit = strings.Repeat("c", 40)
	if c, _ := moved.ContentDigest(); c != content {
		t.Error("a commit moved the content")
	}
	if b, _ := moved.BuildDigest(); b == build {
		t.Error("a commit did not move the build")
	}
	for name, change := range map[string]func(*manifest.Built){
		"summary": func(b *manifest.Built) { b.Summary += "!" },
		"claims":  func(b *manifest.Built) { b.Claims = b.Claims[1:] },
		"setting": func(b *manifest.Built) {
			v := manifest.IntegerValue(1)
			b.Settings = map[string]manifest.Setting{"port": {Type: "integer", Default: &v}}
		},
		"resource": func(b *manifest.Built) { b.Resources = b.Resources[1:] },
	} {
		b := derived(t)
		change(&b)
		if c, _ := b.ContentDigest(); c == content {
			t.Errorf("%s is no part of the content", name)
		}
	}
}

func TestEveryRuleOfABuilt(t *testing.T) {
	t.Parallel()
	encoded, err := derived(t).Encode()
	if err != nil {
		t.Fatal(err)
	}
	good := string(encoded)
	index, unit := string(digest("index")), string(digest("unit"))
	for name, c := range map[string]struct{ old, new, want string }{
		"format":        {`"format":1`, `"format":2`, `at format: this program speaks 1, the built manifest is format 2; upgrade this program`},
		"artifact":      {`"digest":"` + index + `"`, `"artifact":"site"`, `unknown key "artifact"`},
		"from":          {`"digest":"` + unit + `"`, `"from":"x"`, `unknown key "from"`},
		"build":         {`"format":1`, `"build":{},"format":1`, `unknown key "build"; did you mean "built"?`},
		"digest":        {index, strings.ToUpper(index), `is not a digest; want sha256: and 64 lower-case hexadecimal digits`},
		"digest of dir": {`"id":"state",`, `"id":"state","digest":"` + index + `",`, `digest does not belong to a resource of type directory`},
		"no digest":     {`"digest":"` + index + `",`, ``, `a resource of type archive needs digest`},
		"size":          {`"size":4`, `"size":-4`, `at resources[2].size: size -4`},
		"size of none":  {`"id":"state",`, `"id":"state","size":4,`, `at resources[3].size: size 4`},
		"commit":        {strings.Repeat("a", 40), "main", `at built.commit: "main" is not a commit`},
		"tree":          {strings.Repeat("b", 40), strings.Repeat("B", 40), `is not a tree`},
		"platform":      {`linux/amd64`, `linux`, `at built.platform: "linux" is not a platform; want OS/ARCH, as linux/amd64`},
		"closure order": {`"module":"base"`, `"module":"zoo"`, `at built.closure[1]: it does not come after the input before it`},
		"closure twice": {
			`"` + string(digest("2")) + `","module":"lib"`, `"` + string(digest("1")) + `","module":"base"`,
			`at built.closure[1]: it does not come after the input before it; sort by module, artifact and digest, each once`,
		},
		"closure name": {`"artifact":"go"`, `"artifact":"G"`, `is not the name of an artifact`},
		"template":     {`${node.name}`, `${node.names}`, `nothing is called "${node.names}"; did you mean "node.name"?`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := strings.Replace(good, c.old, c.new, 1)
			if in == good {
				t.Fatal("nothing was replaced")
			}
			if _, err := manifest.DecodeBuilt("built manifest", []byte(in)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestFill(t *testing.T) {
	t.Parallel()
	values := map[string]string{"settings.a": "1", "settings.loop": "${settings.a}", "node.name": ""}
	for in, want := range map[string]string{
		"": "", "plain": "plain", "${settings.a}": "1", "x${settings.a}y${settings.a}": "x1y1", "$${settings.a}": "${settings.a}",
		"$$${settings.a}": "$${settings.a}", "$": "$", "$$": "$$", "$x}": "$x}", "{}": "{}", "${settings.loop}": "${settings.a}", "a${node.name}b": "ab", "$${": "${",
		"ü${settings.a}": "ü1",
	} {
		if got, err := manifest.Fill(in, values); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"${", "${settings.a", "${}", "${no}", "${settings.a }", "x${${settings.a}}"} {
		if got, err := manifest.Fill(in, values); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: got %q, %v", in, got, err)
		}
	}
}

// What is escaped comes back as it was; what is filled holds exactly its values.
func TestFillIsConcatenation(t *testing.T) {
	t.Parallel()
	values := map[string]string{"settings.a": "${node.id}", "node.id": "n"}
	rapid.Check(t, func(t *rapid.T) {
		var template, want strings.Builder
		named := map[string]bool{}
		for range rapid.IntRange(0, 6).Draw(t, "pieces") {
			if rapid.Bool().Draw(t, "named") {
				name := rapid.SampledFrom(slices.Sorted(maps.Keys(values))).Draw(t, "name")
				template.WriteString("${" + name + "}")
				want.WriteString(values[name])
				named[name] = true
				continue
			}
			// A dollar before a name would make it a plain one, so text does not end with one.
			text := rapid.StringOf(rapid.SampledFrom([]rune("a$ {}ü"))).Draw(t, "text") + "."
			template.WriteString(strings.ReplaceAll(text, "${", "$${"))
			want.WriteString(text)
		}
		got, err := manifest.Fill(template.String(), values)
		if err != nil || got != want.String() {
			t.Fatalf("%q: got %q, %v, want %q", template.String(), got, err, want.String())
		}
		names, err := manifest.Names(template.String())
		if err != nil || !slices.Equal(slices.Sorted(slices.Values(names)), slices.Sorted(maps.Keys(named))) {
			t.Fatalf("names %v, %v", names, err)
		}
	})
}

func TestSettingValue(t *testing.T) {
	t.Parallel()
	of := func(v manifest.Value) *manifest.Value { return &v }
	for _, c := range []struct {
		setting   manifest.Setting
		chosen    string
		text, why string
	}{
		{manifest.Setting{Type: "integer", Default: of(manifest.IntegerValue(8080))}, "", "8080", ""},
		{manifest.Setting{Type: "integer", Default: of(manifest.IntegerValue(8080))}, "9", "9", ""},
		{manifest.Setting{Type: "integer"}, "", "", "has no default and must be set"},
		{manifest.Setting{Type: "integer"}, "08", "", `is "08", want an integer such as 8080`},
		{manifest.Setting{Type: "integer"}, "9007199254740992", "9007199254740992", ""},
		{manifest.Setting{Type: "integer"}, "9007199254740993", "", `is "9007199254740993", want an integer such as 8080`},
		{manifest.Setting{Type: "boolean"}, "yes", "", `is "yes", want true or false`},
		{manifest.Setting{Type: "boolean", Default: of(manifest.BooleanValue(true))}, "", "true", ""},
		{manifest.Setting{Type: "string"}, "${x}", "${x}", ""},
	} {
		if text, why := c.setting.Value(c.chosen); text != c.text || why != c.why {
			t.Errorf("%+v %q: got %q, %q", c.setting, c.chosen, text, why)
		}
	}
}

func TestValuesAreExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.OneOf(
			rapid.Map(rapid.String(), manifest.StringValue),
			rapid.Map(rapid.Int64Range(-(1<<53), 1<<53), manifest.IntegerValue),
			rapid.Map(rapid.Bool(), manifest.BooleanValue),
		).Draw(t, "value")
		b, err := document.Canonical(v)
		if err != nil {
			t.Fatal(err)
		}
		w, err := document.Decode[manifest.Value]("value", b, manifest.Limits)
		if err != nil || w != v {
			t.Fatalf("%s: got %+v, %v", b, w, err)
		}
	})
}
