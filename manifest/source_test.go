package manifest_test

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/manifest"
)

var update = flag.Bool("update", false, "write the golden files anew")

const whole = `{
  "$schema": "https://mesh.example/module.json",
  "module": "meshboard",
  "summary": "What the mesh is doing, on one page",
  "provides": ["board"],
  "requires": ["name-resolution"],
  "claims": ["tcp:${settings.port}", "udp:53", "name:board"],
  "settings": {
    "port": {"type": "integer", "default": 8080, "says": "where it listens"},
    "title": {"type": "string"},
    "open": {"type": "boolean", "default": false}
  },
  "resources": [
    {"id": "site", "type": "archive", "artifact": "site", "path": "/opt/meshboard"},
    {"id": "config", "type": "file", "path": "/etc/meshboard/env", "mode": "0640",
     "content": "PORT=${settings.port}\nNODE=${node.name}\nPLAIN=$${x} $HOME\n"},
    {"id": "unit", "type": "file", "path": "/etc/systemd/system/meshboard.service", "from": "meshboard.service"},
    {"id": "state", "type": "directory", "path": "/var/lib/${settings.title}/board", "mode": "0700"},
    {"id": "current", "type": "link", "path": "/srv/board", "target": "/opt/meshboard"}
  ],
  "build": {
    "run": [["npm", "ci"], ["npm", "run", "build"]],
    "test": [["npm", "test", ""]],
    "artifacts": {"site": {"type": "archive", "path": "dist"}}
  }
}
`

func TestTheSmallestModule(t *testing.T) {
	t.Parallel()
	s, err := manifest.DecodeSource("module.json", []byte(`{"module": "networking", "requires": ["private-network", "name-resolution"]}`))
	if err != nil || len(s.Requires) != 2 {
		t.Fatalf("%+v, %v", s, err)
	}
}

func TestEveryRuleOfASource(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ old, new, want string }{
		"module":           {`"meshboard",`, `"Mesh board",`, `module.json:3:13: at module: "Mesh board" is not the name of a module; want lower-case letters, digits and inner hyphens, at most 63`},
		"unknown":          {`"summary"`, `"sumary"`, `module.json:4:3: at sumary: unknown key "sumary"; did you mean "summary"?`},
		"summary":          {`on one page`, `on\none page`, `module.json:4:14: at summary: it holds a control character; want one line of plain text`},
		"provides":         {`["board"]`, `["board","Board"]`, `module.json:5:24: at provides[1]: "Board" is not a name`},
		"provides twice":   {`["board"]`, `["board","board"]`, `module.json:5:24: at provides[1]: "board" is there twice; take one of them out`},
		"provides scope":   {`["board"]`, `[{"scope":"mesh"}]`, `module.json:5:16: at provides[0].name: the key "name" is missing; want a string, as "board"`},
		"requires":         {`"name-resolution"`, `"-"`, `at requires[0]: "-" is not a name`},
		"claim":            {`"udp:53"`, `"sctp:53"`, `at claims[1]: "sctp:53" is not a claim; want tcp:PORT, udp:PORT or name:NAME`},
		"claim port":       {`"udp:53"`, `"udp:053"`, `at claims[1]: "053" is not a port; want a number from 1 to 65535`},
		"claim port 0":     {`"udp:53"`, `"udp:0"`, `at claims[1]: "0" is not a port`},
		"claim port large": {`"udp:53"`, `"udp:65536"`, `at claims[1]: "65536" is not a port`},
		"claim none":       {`"udp:53"`, `""`, `at claims[1]: "" is not a claim`},
		"claim name":       {`"name:board"`, `"name:B"`, `at claims[2]: "B" is not a name`},
		"claim twice":      {`"name:board"`, `"udp:53"`, `at claims[2]: "udp:53" is there twice`},
		"claim template":   {`tcp:${settings.port}`, `tcp:x${settings.port}`, `at claims[0]: "tcp:x${settings.port}" is not a claim`},
		"claim name there": {`tcp:${settings.port}`, `tcp:${settings.prt}`, `module.json:7:14: at claims[0]: nothing is called "${settings.prt}"; did you mean "settings.port"?`},
		"setting name":     {`"open": {`, `"Open": {`, `module.json:11:5: at settings.Open: "Open" is not the name of a setting`},
		"setting type":     {`"type": "boolean", "default": false`, `"type": "bool"`, `module.json:11:22: at settings.open.type: "bool" is not the type of a setting; did you mean "boolean"?`},
		"default type":     {`8080`, `"8080"`, `module.json:9:44: at settings.port.default: the default is a string; want an integer`},
		"default fraction": {`8080`, `80.5`, `module.json:9:44: at settings.port.default: 80.5 is no value of a setting; want a string, an integer of at most 9007199254740992, true or false`},
		"default large":    {`8080`, `9007199254740993`, `at settings.port.default: 9007199254740993 is no value of a setting`},
		"default null":     {`8080`, `null`, `module.json:9:44: at settings.port.default: there is null`},
		"default object":   {`8080`, `{}`, `at settings.port.default: {} is no value of a setting; want a string`},
		"id":               {`"id": "site"`, `"id": "a/b"`, `module.json:14:12: at resources[0].id: "a/b" is not the id of a resource`},
		"id twice":         {`"id": "unit"`, `"id": "site"`, `at resources[2].id: resources[0] is called "site" as well; want an id of its own`},
		"type":             {`"type": "link"`, `"type": "symlink"`, `at resources[4].type: "symlink" is not the type of a resource; did you mean "link"?`},
		"path":             {`"/opt/meshboard"}`, `"opt/meshboard"}`, `at resources[0].path: "opt/meshboard" is not absolute; want a clean absolute path below /, as /opt/site`},
		"path unclean":     {`"/opt/meshboard"}`, `"/opt//meshboard"}`, `at resources[0].path: "/opt//meshboard" is not clean`},
		"path up":          {`"/opt/meshboard"}`, `"/opt/../etc"}`, `at resources[0].path: "/opt/../etc" is not clean`},
		"path root":        {`"/opt/meshboard"}`, `"/"}`, `at resources[0].path: "/" is the root`},
		"path control":     {`"/opt/meshboard"}`, `"/opt/\u0007"}`, `holds a control character`},
		"path template":    {`/var/lib/${settings.title}/board`, `${settings.title}/board`, `at resources[3].path: "${settings.title}/board" is not absolute`},
		"path slash":       {`/var/lib/${settings.title}/board`, `/var/${settings.title}/`, `is not clean`},
		"path twice":       {`"/srv/board"`, `"/opt/meshboard"`, `at resources[4].path: resources[0] has the path "/opt/meshboard" as well`},
		"mode":             {`"0640"`, `"640"`, `at resources[1].mode: "640" is not a mode; want four octal digits, as 0640`},
		"mode setuid":      {`"0640"`, `"4755"`, `"4755" has setuid, setgid or sticky, which no file is given; want at most 0777`},
		"mode octal":       {`"0640"`, `"0648"`, `"0648" is not a mode`},
		"mode of a link":   {`"/srv/board", `, `"/srv/board", "mode": "0644", `, `at resources[4].mode: mode does not belong to a resource of type link; take it out`},
		"no content":       {`, "from": "meshboard.service"`, ``, `module.json:17:5: at resources[2]: a resource of type file needs content or from; add it`},
		"both":             {`"from": "meshboard.service"`, `"from": "meshboard.service", "content": ""`, `module.json:17:85: at resources[2].from: there is content as well; want exactly one of them`},
		"no target":        {`, "target": "/opt/meshboard"`, ``, `at resources[4]: a resource of type link needs target`},
		"no artifact":      {`"artifact": "site", "path"`, `"path"`, `at resources[0]: a resource of type archive needs artifact`},
		"wrong artifact":   {`"artifact": "site"`, `"artifact": "sit"`, `module.json:14:51: at resources[0].artifact: "sit" is not made by build.artifacts; did you mean "site"?`},
		"unused":           {`{"site": {`, `{"other": {"type": "archive", "path": "x"}, "site": {`, `at build.artifacts.other: no resource puts the artifact "other" on a machine; name it in a resource of type archive, or take it out`},
		"content of link":  {`"target": "/opt/meshboard"`, `"target": "/opt/meshboard", "content": ""`, `at resources[4].content: content does not belong to a resource of type link`},
		"target control":   {`"target": "/opt/meshboard"`, `"target": "/opt/\u0000"`, `at resources[4].target: the target holds a control character`},
		"from up":          {`"meshboard.service"`, `"../../etc/shadow"`, `at resources[2].from: "../../etc/shadow" leads out of the folder; want a clean path below the module's folder, as dist/site`},
		"from absolute":    {`"meshboard.service"`, `"/etc/shadow"`, `"/etc/shadow" is absolute`},
		"from self":        {`"meshboard.service"`, `"."`, `at resources[2].from: it is the folder itself`},
		"from inside":      {`"meshboard.service"`, `"a/../../b"`, `"a/../../b" is not clean`},
		"content name":     {`${node.name}`, `${nodes.x}`, `module.json:16:17: at resources[1].content: nothing is called "${nodes.x}"; the names here are node.id, node.name, settings.open, settings.port, settings.title; write $${ for a plain ${`},
		"content open":     {`${node.name}`, `${node.name`, `"${node.name" is not closed; close it with }, or write $${ for a plain ${`},
		"content end":      {`$${x} $HOME\n`, `${node.id`, `at resources[1].content: "${node.id" is not closed; close it with }, or write $${ for a plain ${`},
		"content none":     {`${node.name}`, `${}`, `a ${} has no name`},
		"run empty":        {`["npm", "ci"]`, `[]`, `module.json:22:13: at build.run[0]: the command is empty; want the program and its words, as ["make", "site"]`},
		"run string":       {`["npm", "ci"]`, `"npm ci"`, `at build.run[0]: there is a string; want a list`},
		"run no program":   {`["npm", "ci"]`, `["", "ci"]`, `at build.run[0][0]: the first word is empty`},
		"run zero":         {`["npm", "ci"]`, `["npm", "c\u0000i"]`, `at build.run[0][1]: the word holds a zero byte`},
		"artifact type":    {`{"type": "archive", "path": "dist"}`, `{"type": "tar", "path": "dist"}`, `at build.artifacts.site.type: "tar" is not the type of an artifact; want archive`},
		"an image for it":  {`{"type": "archive", "path": "dist"}`, `{"type": "image", "path": "dist"}`, `at resources[0].artifact: "site" is an image; want an artifact of type archive`},
		"artifact path":    {`"path": "dist"`, `"path": "/dist"`, `at build.artifacts.site.path: "/dist" is absolute`},
		"in no image":      {`"build": {`, `"build": {"in": "Node:20",`, `module.json:21:19: at build.in: "Node:20" is not the name of an image`},
		"in half a digest": {`"build": {`, `"build": {"in": "golang@sha256:1",`, `module.json:21:19: at build.in: "sha256:1" is not a digest; want sha256: and 64 lower-case hexadecimal digits`},
		"in an empty one":  {`"build": {`, `"build": {"in": "golang:1.26@",`, `module.json:21:19: at build.in: "" is not a digest; want sha256: and 64 lower-case hexadecimal digits`},
		"in neither":       {`"build": {`, `"build": {"in": "Go@sha256:1",`, `module.json:21:19: at build.in: "Go@sha256:1" is not the name of an image`},
		"in no digest":     {`"build": {`, `"build": {"in": "node@sha512:0123456789abcdef0123456789abcdef",`, `module.json:21:19: at build.in: "sha512:0123456789abcdef0123456789abcdef" is not a digest`},
		"later key":        {`"summary"`, `"lab": "lab.json", "summary"`, `module.json:4:3: at lab: this version has no lab yet`},
		"trailing":         {"]\n  },\n  \"build\"", "]\n  ,\n  \"build\"", `no JSON`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := strings.Replace(whole, c.old, c.new, 1)
			if in == whole && name != "trailing" {
				t.Fatal("nothing was replaced")
			}
			if name == "trailing" {
				in = whole + "{}"
				c.want = "something follows the document"
			}
			_, err := manifest.DecodeSource("module.json", []byte(in))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if fault.KindOf(err) != fault.Invalid {
				t.Errorf("kind %s", fault.KindOf(err))
			}
		})
	}
}

func TestFaultsOfFormAndOfRulesAreSaidTogether(t *testing.T) {
	t.Parallel()
	_, err := manifest.DecodeSource("module.json", []byte("{\"modul\": 1, \"module\": \"A\",\n \"lab\": \"x\", \"resources\": [{\"id\": \"a\", \"type\": \"file\", \"path\": \"x\", \"content\": \"${y}\"}]}"))
	if p := document.ProblemsOf(err); len(p) != 5 {
		t.Errorf("%d problems: %v", len(p), err)
	}
}

func TestALargeContentBelongsInAFile(t *testing.T) {
	t.Parallel()
	for n, ok := range map[int]bool{manifest.ContentLimit: true, manifest.ContentLimit + 1: false} {
		content := strings.Repeat("x", n)
		_, err := manifest.Source{Module: "a", Resources: []manifest.Resource{{ID: "a", Type: "file", Path: "/a", Content: &content}}}.Encode()
		if (err == nil) != ok {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// A manifest comes from anybody who can push: the worst of a whole mebibyte is
// refused or read while nobody notices.
func TestTheWorstManifestCostsLittle(t *testing.T) {
	t.Parallel()
	many := func(n int, f func(i string) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(f(strconv.Itoa(i)))
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	for name, in := range map[string]string{
		"names":     `{"module":"a","provides":[` + many(90_000, func(i string) string { return `"n` + i + `",` }) + `]}`,
		"claims":    `{"module":"a","claims":[` + many(80_000, func(i string) string { return `"tcp:` + i + `",` }) + `]}`,
		"artifacts": `{"module":"a","build":{"artifacts":{` + many(20_000, func(i string) string { return `"a` + i + `":{"type":"archive","path":"x"},` }) + `}}}`,
		"settings": `{"module":"a","resources":[{"id":"a","type":"file","path":"/a","content":"` + many(6000, func(i string) string { return `${s` + i + `}` }) +
			`"}],"settings":{` + many(20_000, func(i string) string { return `"s` + i + `":{"type":"string"},` }) + `}}`,
		"template": `{"module":"a","resources":[{"id":"a","type":"file","path":"/a","target":"` + many(110_000, func(i string) string { return `${` + i + `}` }) + `"}]}`,
		"keys":     `{` + many(80_000, func(i string) string { return `"k` + i + `":0,` }) + `}`,
		"deep":     strings.Repeat("[", 1<<20),
		"braces":   strings.Repeat(`{"a":`, 200_000),
		"one name": `{"module":"` + strings.Repeat("x", 1<<20-16) + `"}`,
	} {
		if len(in) > manifest.Limits.Bytes {
			t.Errorf("%s: %d bytes are not looked at", name, len(in))
		}
		start := time.Now()
		_, err := manifest.DecodeSource("module.json", []byte(in))
		if took := time.Since(start); err == nil || took > time.Minute || len(err.Error()) > 64<<10 {
			t.Errorf("%s: took %s, says %d bytes", name, took, len(err.Error()))
		}
	}
}

func TestFolder(t *testing.T) {
	t.Parallel()
	for folder, ok := range map[string]bool{"": true, "a/b": true, ".": false, "..": false, "/a": false, "a/": false, "a//b": false, "../a": false, "a\n": false} {
		if err := manifest.CheckFolder(folder); (err == nil) != ok {
			t.Errorf("%q: %v", folder, err)
		}
	}
}

// golden compares with a file that must decode for ever.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", "v1", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Error(d)
	}
}

func TestTheSourceOfVersion1DecodesForEver(t *testing.T) {
	t.Parallel()
	golden(t, "module.json", []byte(whole))
	s, err := manifest.DecodeSource("module.json", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "source.canonical.json", b)
}
