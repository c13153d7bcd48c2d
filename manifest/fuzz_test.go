package manifest_test

import (
	"strings"
	"testing"

	"noxmesh/document/documenttest"
	"noxmesh/internal/fault"
	"noxmesh/manifest"
)

// FuzzDecodeSource also holds that the schema takes whatever the decoder takes.
func FuzzDecodeSource(f *testing.F) {
	schema := compiled(f, manifest.SourceSchema)
	documenttest.Fuzz(f, documenttest.Codec[manifest.Source]{
		Decode: func(b []byte) (manifest.Source, error) { return manifest.DecodeSource("module.json", b) },
		Encode: manifest.Source.Encode,
		Also: func(t *testing.T, data []byte, _ manifest.Source, err error) {
			if err != nil {
				return
			}
			if err := validate(schema, data); err != nil {
				t.Errorf("the schema refuses it: %v", err)
			}
		},
	}, 130, append(documenttest.Seeds(f, "testdata/v1/*.json", "testdata/bad/*.json"),
		[]byte(`{"module": "a", "resources": [{"id": "a", "type": "check", "command": "raid"}, {"id": "b", "type": "check", "tcp": "a:1", "command": []},
			{"id": "c", "type": "container", "name": "x", "image": "r.example/x@sha256:`+strings.Repeat("0", 64)+`", "command": ["a", ""]}]}`))...)
}

func FuzzDecodeBuilt(f *testing.F) {
	documenttest.Fuzz(f, documenttest.Codec[manifest.Built]{
		Decode: func(b []byte) (manifest.Built, error) { return manifest.DecodeBuilt("built", b) },
		Encode: manifest.Built.Encode,
	}, 3, documenttest.Seeds(f, "testdata/v1/*.json")...)
}

// FuzzTemplate: what Names names is all that Fill needs, a template without
// names is filled in one way, and a value that looks like a template stays.
func FuzzTemplate(f *testing.F) {
	for _, s := range []string{"", "a", "$", "${", "${}", "${a}", "$${a}", "$$${a}", "${a${b}}", "${a\nb}", "${\xff}", "a${settings.port}b${node.name}$${x}$", strings.Repeat("${a}", 1000)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, template string) {
		done := documenttest.Bounded(t, len(template))
		names, err := manifest.Names(template)
		if err != nil {
			documenttest.Plain(t, err)
			if fault.KindOf(err) != fault.Invalid || fault.HintOf(err) == "" {
				t.Errorf("%v, hint %q", err, fault.HintOf(err))
			}
			return
		}
		values := map[string]string{}
		for _, name := range names {
			values[name] = "${" + name + "}"
		}
		filled, err := manifest.Fill(template, values)
		if err != nil {
			t.Fatalf("with all names it is not filled: %v", err)
		}
		done()
		if want := strings.ReplaceAll(template, "$${", "${"); filled != want {
			t.Errorf("%q was filled as %q, want %q", template, filled, want)
		}
		if len(names) == 0 {
			return
		}
		if _, err := manifest.Fill(template, nil); err == nil {
			t.Errorf("%q was filled without its names", template)
		} else {
			documenttest.Plain(t, err)
		}
	})
}

// FuzzSettingValue: what is taken for a setting is taken again as it was written.
func FuzzSettingValue(f *testing.F) {
	for _, s := range []string{"", "8080", "08080", "-0", "9007199254740993", "true", "True", "x", "1e3", "\x00", "\xff", strings.Repeat("\x80", 3000)} {
		for _, kind := range []string{manifest.StringSetting, manifest.IntegerSetting, manifest.BooleanSetting, "other", strings.Repeat("\x80", 3000)} {
			f.Add(kind, s)
		}
	}
	f.Fuzz(func(t *testing.T, kind, chosen string) {
		s := manifest.Setting{Type: kind}
		text, why := s.Value(chosen)
		if why != "" {
			documenttest.Plain(t, fault.New(fault.Invalid, "%s", why))
			return
		}
		if again, why := s.Value(text); why != "" || again != text {
			t.Errorf("%q became %q, then %q: %s", chosen, text, again, why)
		}
	})
}
