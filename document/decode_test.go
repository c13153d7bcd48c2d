package document_test

import (
	"strings"
	"testing"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

type inner struct {
	Path string   `json:"path"`
	Mode string   `json:"mode,omitempty"`
	Size int64    `json:"size,omitempty"`
	Flag bool     `json:"flag,omitempty"`
	Body *string  `json:"body,omitempty"`
	Tags []string `json:"tags,omitempty"`
}

type outer struct {
	Name      string                     `json:"name"`
	Count     int64                      `json:"count"`
	Resources []inner                    `json:"resources,omitempty"`
	Inline    map[document.Digest]string `json:"inline,omitempty"`
	Raw       []byte                     `json:"raw,omitempty"`
	Maybe     *inner                     `json:"maybe"`
}

func limits() document.Limits { return document.Limits{Bytes: 1 << 16, Depth: 6} }

func TestEachFaultSaysWhereAndWhatWouldBeRight(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"unknown": {
			"{\"name\":\"a\",\"count\":1,\"maybe\":null,\n  \"resources\":[{\"path\":\"/\",\"pathh\":1}]}",
			`f:2:28: at resources[0].pathh: unknown key "pathh"; did you mean "path"?`,
		},
		"swapped":     {`{"nmae":"a","name":"a","count":1,"maybe":null}`, `f:1:2: at nmae: unknown key "nmae"; did you mean "name"?`},
		"nothing":     {`{"zzzzzz":"a","name":"a","count":1,"maybe":null}`, `f:1:2: at zzzzzz: unknown key "zzzzzz"; the keys here are count, inline, maybe, name, raw, resources`},
		"case":        {`{"Name":"a","name":"a","count":1,"maybe":null}`, `f:1:2: at Name: unknown key "Name"; did you mean "name"? keys are told apart by case`},
		"twice":       {`{"name":"a","count":1,"maybe":null,"name":"a"}`, `f:1:36: at name: the key "name" is there twice; take one of them out`},
		"escaped":     {`{"name":"a","count":1,"maybe":null,"n\u0061me":"a"}`, `f:1:36: at name: the key "name" is there twice; take one of them out`},
		"twice map":   {`{"name":"a","count":1,"maybe":null,"inline":{"x y":"","x y":""}}`, `f:1:55: at inline["x y"]: the key "x y" is there twice; take one of them out`},
		"missing":     {`{"name":"a","maybe":null}`, `f:1:1: at count: the key "count" is missing; want an integer`},
		"deep":        {`{"name":"a","count":1,"maybe":{"path":"/","tags":[[[[[[[]]]]]]]}}`, "f:1:51: at maybe.tags[0]: there is a list; want a string\nf:1:54: at maybe.tags[0][0][0][0]: nested more than 6 deep"},
		"null":        {`{"name":null,"count":1,"maybe":null}`, `f:1:9: at name: there is null; want a string`},
		"null list":   {`{"name":"a","count":1,"maybe":null,"resources":null}`, `f:1:48: at resources: there is null; want a list`},
		"null left":   {`{"name":"a","count":1,"maybe":{"path":"","body":null}}`, `f:1:49: at maybe.body: there is null; want a string`},
		"type":        {`{"name":1,"count":"1","maybe":[]}`, "f:1:9: at name: there is a number; want a string\nf:1:19: at count: there is a string; want an integer\nf:1:31: at maybe: there is a list; want an object"},
		"fraction":    {`{"name":"a","count":1.0,"maybe":null}`, `f:1:21: at count: 1.0 is not an integer; want an integer`},
		"exponent":    {`{"name":"a","count":1e3,"maybe":null}`, `f:1:21: at count: 1e3 is not an integer; want an integer`},
		"large":       {`{"name":"a","count":9007199254740993,"maybe":null}`, `f:1:21: at count: 9007199254740993 is too large; want at most 9007199254740992, the last that every reader has exactly`},
		"base64":      {`{"name":"a","count":1,"maybe":null,"raw":"YQ"}`, `f:1:42: at raw: the string is not base64; want standard base64 with padding`},
		"base64 bits": {`{"name":"a","count":1,"maybe":null,"raw":"YR=="}`, `f:1:42: at raw: the string is not base64; want standard base64 with padding`},
		"base64 line": {`{"name":"a","count":1,"maybe":null,"raw":"YQ=\n="}`, `f:1:42: at raw: the string is not base64; want standard base64 with padding`},
		"trailing":    {"{\"name\":\"a\",\"count\":1,\"maybe\":null}\n{}", `f:2:1: something follows the document; take it out`},
		"comma":       {"{\"name\":\"a\",\"count\":1,\"maybe\":null} ,", `f:1:38: something follows the document; take it out`},
		"empty":       {"", `f:1:1: the document is empty; want one JSON value`},
		"space":       {" \n ", `f:2:2: the document is empty; want one JSON value`},
		"cut":         {`{"name":"a`, `f:1:11: at name: the document ends in the middle; want the rest of it`},
		"utf-8":       {"{\"name\":\"ü\xff\"}", `f:1:11: the byte 0xff is not UTF-8; save it as UTF-8`},
		"array":       {`[]`, `f:1:1: there is a list; want an object`},
		"huge":        {strings.Repeat(" ", 1<<16) + "{}", `f: the document has 65538 bytes; at most 65536 are read`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := document.Decode[outer]("f", []byte(c.in), limits())
			if err == nil {
				t.Fatal("accepted")
			}
			if err.Error() != c.want {
				t.Errorf("got  %s\nwant %s", err, c.want)
			}
			if fault.KindOf(err) != fault.Invalid || document.ProblemsOf(err) == nil {
				t.Errorf("kind %s, problems %v", fault.KindOf(err), document.ProblemsOf(err))
			}
		})
	}
}

// What was written is read again as it was; what only Decode can tell is left to it.
func TestWhatWasWrittenIsReadAgain(t *testing.T) {
	t.Parallel()
	type row struct {
		Name string `json:"name"`
		At   int64  `json:"at,omitempty"`
	}
	for text, want := range map[string]bool{
		`{"at":1764493200000,"name":"a"}`: true, `{"name":"a -1.5"}`: true, `{"name":"a","more":1}`: false,
		`{"at":9007199254740993,"name":"a"}`: false, `{"at":-1,"name":"a"}`: false, `{"name":"a"} x`: false, `{"name":"a","name":"b"}`: false,
	} {
		v, err := document.Again[row]([]byte(text))
		if (err == nil) != want || want && v.Name[0] != 'a' {
			t.Errorf("%s: %+v, %v", text, v, err)
		}
	}
}
