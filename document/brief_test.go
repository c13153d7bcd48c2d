package document_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"noxmesh/document"
)

// brief is written as a string, or as an object with more.
type brief struct {
	Name string `json:"name"`
	Far  bool   `json:"far,omitempty"`
}

type long brief

func (brief) Whole() reflect.Type { return reflect.TypeFor[long]() }

func (b *brief) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, &b.Name)
	}
	l, err := document.Decode[long]("brief", data, limits())
	*b = brief(l)
	return err
}

// A value that is written in two ways is looked at in both as any other: each
// fault once, with its place.
func TestABriefValueIsAStringOrAnObject(t *testing.T) {
	t.Parallel()
	type in struct {
		All []brief `json:"all"`
	}
	for text, want := range map[string]string{
		`{"all": ["a", {"name": "b", "far": true}]}`: "",
		`{"all": [3]}`:    "f:1:10: at all[0]: there is a number; want a string or an object",
		`{"all": [null]}`: "f:1:10: at all[0]: there is null; want a string or an object",
		`{"all": [{"nam": "b"}]}`: "f:1:10: at all[0].name: the key \"name\" is missing; want a string\n" +
			"f:1:11: at all[0].nam: unknown key \"nam\"; did you mean \"name\"?",
		`{"all": [{"name": "b", "name": "c"}]}`: "f:1:24: at all[0].name: the key \"name\" is there twice; take one of them out",
		`{"all": [{"name": "b", "far": "no"}]}`: "f:1:31: at all[0].far: there is a string; want true or false",
	} {
		v, err := document.Decode[in]("f", []byte(text), limits())
		switch {
		case want == "" && (err != nil || !reflect.DeepEqual(v.All, []brief{{Name: "a"}, {Name: "b", Far: true}})):
			t.Errorf("%s: %+v, %v", text, v, err)
		case want != "" && (err == nil || err.Error() != want):
			t.Errorf("%s: got\n%v\nwant\n%s", text, err, want)
		}
	}
}
