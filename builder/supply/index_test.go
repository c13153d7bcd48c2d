package supply

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"noxmesh/builder/lock"
	"noxmesh/document/documenttest"
)

var (
	sumA = strings.Repeat("a", 64)
	sumB = strings.Repeat("b", 64)
)

func twoFiles() lock.Python {
	return lock.Python{Project: "words", Hashes: []lock.Hash{{Form: lock.SHA256, Sum: sumA}, {Form: lock.SHA256, Sum: sumB}}}
}

func base(t testing.TB) *url.URL {
	t.Helper()
	u, err := url.Parse("https://index.example/simple/words/")
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// What an index says is the same in JSON and in HTML; what is not named, or leads
// elsewhere than a file, is not there.
func TestWhatAnIndexHas(t *testing.T) {
	t.Parallel()
	want := []offered{
		{"words-1.0.tar.gz", "https://index.example/files/words-1.0.tar.gz", lock.Hash{Form: lock.SHA256, Sum: sumA}, ""},
		{"words-1.0-py3-none-any.whl", "http://files.example/x?y=z", lock.Hash{Form: lock.SHA256, Sum: sumB}, ">=3.8,<4"},
	}
	for name, page := range map[string]string{
		"JSON": `{"meta": {"api-version": "1.1"}, "files": [
			{"filename": "words-1.0.tar.gz", "url": "../../files/words-1.0.tar.gz", "hashes": {"sha256": "` + strings.ToUpper(sumA) + `", "md5": "x"}},
			{"filename": "words-1.0-py3-none-any.whl", "url": "http://files.example/x?y=z#a", "hashes": {"sha256": "` + sumB + `"}, "requires-python": ">=3.8,<4", "yanked": "why"},
			{"filename": "words-2.0.tar.gz", "url": "x", "hashes": {"sha256": "` + strings.Repeat("c", 64) + `"}},
			{"filename": "../words.tar.gz", "url": "x", "hashes": {"sha256": "` + sumA + `"}},
			{"filename": "words\".tar.gz", "url": "x", "hashes": {"sha256": "` + sumA + `"}},
			{"filename": "words-3.tar.gz", "url": "file:///etc/passwd", "hashes": {"sha256": "` + sumA + `"}}, {"filename": "words-4.tar.gz", "url": "x", "hashes": {}}]}`,
		"HTML": `<!DOCTYPE html><html><body><h1>words</h1><A class='x' href="../../files/words-1.0.tar.gz#sha256=` + sumA + `" rel=internal>
			words-1.0.tar.gz </A><br/><a data-requires-python="&gt;=3.8,&lt;4" href='http://files.example/x?y=z#sha256=` + sumB + `'>words-1.0-py3-none-any.whl</a>
			<a href="x#sha256=` + strings.Repeat("c", 64) + `">words-2.0.tar.gz</a><a href="x">words-3.tar.gz</a><a href="file:///etc/passwd#sha256=` + sumA + `">words-4.tar.gz</a><a href="`,
	} {
		if d := cmp.Diff(want, decodeIndex([]byte(page), base(t), twoFiles()), cmp.AllowUnexported(offered{})); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// FuzzDecodeIndex: of whatever an index says, only files with a hash that is
// named are there, at addresses that can be fetched, and under harmless names.
func FuzzDecodeIndex(f *testing.F) {
	for _, s := range []string{
		`{"files": [{"filename": "a", "url": "b", "hashes": {"sha256": "` + sumA + `"}}]}`, `<a href="b#sha256=` + sumA + `">a</a>`,
		"\xf6<A ", `<a href='`, `<a =`, `<a x="y`, `<a href=b>`, "<a \xff>",
	} {
		f.Add([]byte(s))
	}
	for _, s := range documenttest.Hostile() {
		f.Add(s)
	}
	at, p := base(f), twoFiles()
	f.Fuzz(func(t *testing.T, data []byte) {
		done := documenttest.Bounded(t, len(data))
		all := decodeIndex(data, at, p)
		done()
		for _, o := range all {
			if o.hash != p.Hashes[0] && o.hash != p.Hashes[1] || strings.ContainsAny(o.name, "/\"<>\\ \n") || !strings.HasPrefix(o.url, "http") || strings.ContainsRune(o.url, '\n') {
				t.Errorf("%+v is taken", o)
			}
		}
	})
}
