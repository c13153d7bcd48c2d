package declaration_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/internal/fault"
)

var update = flag.Bool("update", false, "write the golden files anew")

func digest(s string) document.Digest { return document.Sum([]byte(s)) }

func whole() declaration.Declaration {
	const text = "PORT=8080\n"
	return declaration.Declaration{
		Format: 1, Mesh: "mesh0001", Node: "n7f3k000", Name: "laptop", Epoch: 7, Generation: 42,
		Body: declaration.Body{
			Modules: []declaration.Module{{Module: "board", Content: digest("board")}, {Module: "networking", Content: digest("networking")}},
			Resources: []declaration.Resource{
				{ID: "board/dir", Type: declaration.Directory, Path: "/opt/board", Mode: "0755"},
				{ID: "board/site", Type: declaration.Archive, Path: "/opt/board/site", Digest: digest("index"), After: []string{"board/dir"}},
				{ID: "board/config", Type: declaration.File, Path: "/etc/board/env", Mode: "0640", Digest: digest(text), Size: int64(len(text))},
				{ID: "board/empty", Type: declaration.File, Path: "/etc/board/empty", Mode: "0644", Digest: digest("")},
				{ID: "board/big", Type: declaration.File, Path: "/etc/board/big", Mode: "0644", Digest: digest("big"), Size: 3},
				{ID: "board/link", Type: declaration.Link, Path: "/srv/board", Target: "../opt/board", After: []string{"board/dir", "board/site"}},
			},
		},
		Where: declaration.Where{
			Registry: "https://mesh.example:7443",
			Inline:   map[document.Digest]string{digest(text): text, digest(""): ""},
			Blobs:    map[document.Digest]declaration.Blob{digest("big"): {Repository: "board", Size: 3}},
			Archives: map[document.Digest]declaration.Packed{digest("index"): {
				Repository: "board", Index: digest("packed"), IndexSize: 100, Blob: digest("blob"), Size: 48121,
			}},
		},
	}
}

func encoded(t *testing.T) string {
	t.Helper()
	b, err := whole().Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestTheDeclarationOfVersion1DecodesForEver(t *testing.T) {
	t.Parallel()
	file := filepath.Join("testdata", "v1", "declaration.json")
	got := encoded(t)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Error(d)
	}
	d, err := declaration.Decode(want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole(), d); diff != "" {
		t.Error(diff)
	}
	// The identity of a declaration may never move under the nodes that have it.
	const identity = "sha256:32c45a83f72bee951d6633b95b82813579266d1e8402e0b003a2d3b485fb4d93"
	if id, err := d.Digest(); err != nil || string(id) != identity {
		t.Errorf("identity %s, %v, want %s", id, err, identity)
	}
}

func TestEveryRuleOfADeclaration(t *testing.T) {
	t.Parallel()
	index, big := string(digest("index")), string(digest("big"))
	for name, c := range map[string]struct{ old, new, want string }{
		"newer":             {`"format":1`, `"format":2`, `at format: this host speaks 1, the declaration is format 2; upgrade the host`},
		"format":            {`"format":1`, `"format":0`, `at format: format 0; want 1`},
		"mesh":              {`"mesh0001"`, `"mesh.*"`, `at mesh: "mesh.*" is not an id; want 8 to 32 lower-case letters and digits`},
		"node":              {`"n7f3k000"`, `""`, `at node: "" is not an id`},
		"name":              {`"laptop"`, `"Laptop"`, `at name: "Laptop" is not the name of a node`},
		"epoch":             {`"epoch":7`, `"epoch":0`, `at epoch: epoch 0; want 1 or more`},
		"generation":        {`"generation":42`, `"generation":-1`, `at generation: generation -1; want 1 or more`},
		"artifact":          {`"id":"board/site"`, `"artifact":"site","id":"board/site"`, `at body.resources[1].artifact: unknown key "artifact"`},
		"from":              {`"id":"board/site"`, `"from":"site","id":"board/site"`, `at body.resources[1].from: unknown key "from"`},
		"module":            {`"module":"board"`, `"module":"b/c"`, `at body.modules[0].module: "b/c" is not the name of a module`},
		"module twice":      {`"module":"networking"`, `"module":"board"`, `at body.modules[1].module: "board" is there twice`},
		"content":           {string(digest("networking")), "sha256:00", `at body.modules[1].content: "sha256:00" is not a digest`},
		"id":                {`"id":"board/big"`, `"id":"big"`, `at body.resources[4].id: "big" is not the id of a resource; want MODULE/ID`},
		"id deep":           {`"id":"board/big"`, `"id":"board/big/x"`, `is not the id of a resource`},
		"id elsewhere":      {`"id":"board/big"`, `"id":"other/big"`, `at body.resources[4].id: "other/big" is of a module that is not on this node; name it in body.modules`},
		"id twice":          {`"id":"board/big"`, `"id":"board/empty"`, `at body.resources[4].id: another resource is called "board/empty"`},
		"path":              {`"/srv/board"`, `"srv"`, `at body.resources[5].path: "srv" is not absolute`},
		"path up":           {`"/srv/board"`, `"/srv/../etc"`, `is not clean`},
		"path slash":        {`"/srv/board"`, `"/srv/"`, `is not clean`},
		"path root":         {`"/srv/board"`, `"/"`, `is the root`},
		"path zero":         {`"/srv/board"`, `"/srv\u0000"`, `holds a control character`},
		"path twice":        {`"/srv/board"`, `"/opt/board"`, `at body.resources[5].path: another resource has the path "/opt/board"`},
		"type":              {`"type":"link"`, `"type":"portal"`, `at body.resources[5].type: "portal" is not a type that this host knows; want `},
		"mode":              {`"0640"`, `"640"`, `at body.resources[2].mode: "640" is not a mode; want four octal digits, as 0640`},
		"mode setuid":       {`"0640"`, `"4755"`, `"4755" has setuid, setgid or sticky, which no file is given`},
		"owner":             {`"mode":"0640"`, `"mode":"0640","owner":"a:b"`, `at body.resources[2].owner: "a:b" is neither the name nor the number of a user or a group; want a name, or a number from 0 to 4294967293`},
		"group by number":   {`"mode":"0640"`, `"group":"065","mode":"0640"`, `at body.resources[2].group: "065" is neither the name nor the number`},
		"mode of link":      {`"path":"/srv/board"`, `"mode":"0644","path":"/srv/board"`, `at body.resources[5].mode: mode does not belong to a resource of type link`},
		"no mode":           {`"mode":"0640",`, ``, `at body.resources[2]: a resource of type file needs mode; add it`},
		"no target":         {`"target":"../opt/board",`, ``, `a resource of type link needs target`},
		"target zero":       {`"../opt/board"`, `"\u0000"`, `at body.resources[5].target: the target holds a control character`},
		"target of file":    {`"size":3,`, `"size":3,"target":"x",`, `target does not belong to a resource of type file`},
		"no digest":         {`"digest":"` + index + `",`, ``, `a resource of type archive needs digest`},
		"digest of dir":     {`"id":"board/dir"`, `"digest":"` + index + `","id":"board/dir"`, `digest does not belong to a resource of type directory`},
		"size of archive":   {`"id":"board/site"`, `"id":"board/site","size":1`, `size does not belong to a resource of type archive`},
		"size":              {`"size":10`, `"size":11`, `at body.resources[2].size: where says that it has 10 bytes; want 10`},
		"size blob":         {`"size":3,"type"`, `"size":4,"type"`, `at body.resources[4].size: where says that it has 3 bytes; want 3`},
		"size negative":     {`"size":10`, `"size":-10`, `size -10; want 0 or more`},
		"after":             {`["board/dir"]`, `["board/big"]`, `at body.resources[1].after[0]: "board/big" is not the id of an earlier resource`},
		"after itself":      {`["board/dir"]`, `["board/site"]`, `is not the id of an earlier resource`},
		"after twice":       {`["board/dir","board/site"]`, `["board/dir","board/dir"]`, `at body.resources[5].after[1]: "board/dir" is there twice`},
		"registry":          {`https://mesh.example:7443`, `https://mesh.example:7443/v2`, `at where.registry: "https://mesh.example:7443/v2" is not a registry`},
		"registry user":     {`https://mesh.example:7443`, `https://u:p@mesh.example`, `is not a registry`},
		"registry other":    {`https://mesh.example:7443`, `ftp://mesh.example`, `is not a registry`},
		"inline":            {`PORT=8080`, `PORT=8081`, `the text has another digest; want ` + string(digest("PORT=8081\n"))},
		"blob missing":      {`"` + big + `":{`, `"` + string(digest("other")) + `":{`, `at body.resources[4].digest: where does not say how to get ` + big},
		"archive missing":   {`"archives":{"` + index, `"archives":{"` + big, `at body.resources[1].digest: where does not say how to get ` + index},
		"archive as blob":   {`"archives":{"` + index, `"archives":{"` + big, `add it to where.archives`},
		"blob key":          {`"` + big + `":{`, `"big":{`, `at where.blobs.big: "big" is not a digest`},
		"repository":        {`"repository":"board","size":3`, `"repository":"../x","size":3`, `.repository: "../x" is not a repository`},
		"blob size":         {`"repository":"board","size":3`, `"repository":"board","size":-3`, `.size: size -3; want 0 or more`},
		"packed index":      {string(digest("packed")), "x", `.index: "x" is not a digest`},
		"packed blob":       {string(digest("blob")), "x", `.blob: "x" is not a digest`},
		"packed size":       {`"size":48121`, `"size":0`, `.size: size 0; want 1 or more`},
		"packed index size": {`"index_size":100`, `"index_size":0`, `.index_size: size 0; want 1 or more`},
		"no modules":        {`"modules":[`, `"modulez":[`, `at body.modulez: unknown key "modulez"; did you mean "modules"?`},
		"no where":          {`"where":{`, `"wehre":{`, `at where: the key "where" is missing`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			good := encoded(t)
			in := strings.Replace(good, c.old, c.new, 1)
			if in == good {
				t.Fatal("nothing was replaced")
			}
			_, err := declaration.DecodeFile("d.json", []byte(in))
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "d.json:1:") {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if fault.KindOf(err) != fault.Invalid {
				t.Errorf("kind %s", fault.KindOf(err))
			}
		})
	}
}

func TestInlineIsBounded(t *testing.T) {
	t.Parallel()
	for n, ok := range map[int]bool{declaration.InlineLimit: true, declaration.InlineLimit + 1: false} {
		text := strings.Repeat("x", n)
		d := whole()
		d.Body.Resources = []declaration.Resource{{ID: "board/a", Type: declaration.File, Path: "/a", Mode: "0644", Digest: digest(text), Size: int64(n)}}
		d.Where.Inline = map[document.Digest]string{digest(text): text}
		b, err := document.Canonical(d)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := declaration.Decode(b); (err == nil) != ok {
			t.Errorf("%d bytes: %v", n, err)
		}
		if _, err := d.Encode(); (err == nil) != ok || err != nil && fault.KindOf(err) != fault.Broken {
			t.Errorf("encode of %d bytes: %v", n, err)
		}
	}
}

func TestTooLargeIsRefusedUnread(t *testing.T) {
	t.Parallel()
	in := bytes.Repeat([]byte("["), declaration.Limits.Bytes+1)
	if _, err := declaration.Decode(in); err == nil || !strings.Contains(err.Error(), "at most 4194304 are read") {
		t.Error(err)
	}
	if _, err := declaration.Decode(in[:1<<20]); err == nil {
		t.Error("accepted")
	}
}

func declarations() *rapid.Generator[declaration.Declaration] {
	return rapid.Custom(func(t *rapid.T) declaration.Declaration {
		d := declaration.Declaration{
			Format: 1, Mesh: "mesh0001", Node: "n7f3k000", Name: "laptop",
			Epoch: rapid.Int64Range(1, 1<<53).Draw(t, "epoch"), Generation: rapid.Int64Range(1, 1<<53).Draw(t, "generation"),
			Body: declaration.Body{Modules: []declaration.Module{}, Resources: []declaration.Resource{}},
		}
		for m := range rapid.IntRange(0, 3).Draw(t, "modules") {
			module := "m" + strconv.Itoa(m)
			d.Body.Modules = append(d.Body.Modules, declaration.Module{Module: module, Content: digest(module)})
			for i := range rapid.IntRange(0, 4).Draw(t, "resources") {
				d.Body.Resources = append(d.Body.Resources, resource(t, &d, module, i))
			}
		}
		return d
	})
}

func resource(t *rapid.T, d *declaration.Declaration, module string, i int) declaration.Resource {
	r := declaration.Resource{ID: module + "/r" + strconv.Itoa(i), Path: "/" + module + "/" + strconv.Itoa(i)}
	switch rapid.IntRange(0, 7).Draw(t, "type") {
	case 4:
		r.Type, r.Path, r.Traits = declaration.Group, "", &declaration.Traits{Name: "g" + module + strconv.Itoa(i), GID: rapid.Int64Range(0, 9).Draw(t, "gid")}
	case 5:
		r.Type, r.Path, r.Traits = declaration.User, "", &declaration.Traits{Name: "u" + module + strconv.Itoa(i), Groups: []string{"a"}, Home: "/x", Drift: declaration.DriftReport}
	case 6:
		r.Type, r.Path, r.Traits = declaration.Check, "", &declaration.Traits{Command: declaration.Command{Name: rapid.StringMatching(`[A-Za-z0-9][a-z0-9_.-]{0,9}`).Draw(t, "command")}}
	case 7:
		r.Type, r.Path, r.Traits = declaration.Container, "", &declaration.Traits{
			Name: "c" + module + strconv.Itoa(i), Image: "r.example/x@" + string(digest("x")), Command: declaration.Command{Words: rapid.SliceOfN(rapid.StringMatching(`[a-z" ü]{0,5}`), 1, 3).Draw(t, "words")},
		}
	case 0:
		text := rapid.String().Draw(t, "text")
		r.Type, r.Mode, r.Digest, r.Size = declaration.File, "0644", digest(text), int64(len(text))
		if d.Where.Inline == nil {
			d.Where.Inline = map[document.Digest]string{}
		}
		d.Where.Inline[r.Digest] = text
	case 1:
		r.Type, r.Mode = declaration.Directory, "0700"
	case 2:
		r.Type, r.Target = declaration.Link, rapid.StringMatching(`[a-zü /.]{1,9}`).Draw(t, "target")
	case 3:
		r.Type, r.Digest = declaration.Archive, digest(r.ID)
		if d.Where.Archives == nil {
			d.Where.Archives = map[document.Digest]declaration.Packed{}
		}
		d.Where.Archives[r.Digest] = declaration.Packed{Repository: module, Index: digest("i"), IndexSize: 1, Blob: digest("b"), Size: 1}
	}
	if n := len(d.Body.Resources); n > 0 && rapid.Bool().Draw(t, "after") {
		r.After = []string{d.Body.Resources[rapid.IntRange(0, n-1).Draw(t, "which")].ID}
	}
	return r
}

func TestWhatIsEncodedIsDecoded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := declarations().Draw(t, "declaration")
		b, err := d.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := declaration.Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(d, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// What and where are apart: how the bytes travel, and when it was declared, is
// no part of the identity; every other thing is.
func TestIdentityIsContentAlone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := declarations().Draw(t, "declaration")
		before, err := d.Digest()
		if err != nil {
			t.Fatal(err)
		}
		moved := d
		moved.Where, moved.Epoch, moved.Generation, moved.Name, moved.Mesh = declaration.Where{Registry: "https://other"}, d.Epoch+1, d.Generation+1, "x", "mesh0002"
		if after, _ := moved.Digest(); after != before {
			t.Fatal("where or when moved the identity")
		}
		moved = d
		moved.Node = "n7f3k001"
		if after, _ := moved.Digest(); after == before {
			t.Fatal("another node has the same identity")
		}
		if len(d.Body.Resources) > 0 {
			moved = d
			moved.Body.Resources = moved.Body.Resources[1:]
			if after, _ := moved.Digest(); after == before {
				t.Fatal("a resource less has the same identity")
			}
		}
	})
}

// A byte that is changed, cut out or put in is refused or changes what it says,
// and never brings the decoder down.
func TestNoByteIsWithoutMeaning(t *testing.T) {
	t.Parallel()
	good := []byte(encoded(t))
	rapid.Check(t, func(t *rapid.T) {
		in := bytes.Clone(good)
		i := rapid.IntRange(0, len(in)-1).Draw(t, "where")
		switch rapid.IntRange(0, 2).Draw(t, "how") {
		case 0:
			in[i] = rapid.Byte().Draw(t, "byte")
		case 1:
			in = append(in[:i], in[i+1:]...)
		case 2:
			in = append(in[:i], append([]byte{rapid.Byte().Draw(t, "byte")}, in[i:]...)...)
		}
		d, err := declaration.Decode(in)
		if err != nil {
			return
		}
		b, err := d.Encode()
		if err != nil {
			t.Fatal(err)
		}
		var x, y any
		if json.Unmarshal(in, &x) != nil || json.Unmarshal(b, &y) != nil || !cmp.Equal(x, y) {
			t.Fatalf("%s\nwas read as\n%s", in, b)
		}
	})
}

func TestOrderOfTuples(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tuple := func(name string) declaration.Tuple {
			return declaration.Tuple{Epoch: rapid.Int64Range(1, 3).Draw(t, name), Generation: rapid.Int64Range(1, 3).Draw(t, name)}
		}
		a, b := tuple("a"), tuple("b")
		if want := a.Epoch*10+a.Generation < b.Epoch*10+b.Generation; a.Before(b) != want {
			t.Fatalf("%v before %v", a, b)
		}
	})
}
