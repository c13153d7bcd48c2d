package supply_test

import (
	"net/http"
	"strings"
	"testing"

	"noxmesh/internal/fault"
)

// An index shows the files that are named and no others; each is proven.
func TestWhatAnIndexIsMadeOf(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sum := strings.TrimPrefix(b.registry.Python(t, "words", "1.0", "hello"), "sha256:")
	files := map[string]string{"requirements.txt": "Words==1.0 --hash=sha256:" + sum + "\n"}
	x := b.session(files, false)
	code, page := ask(t, x, "/pypi/simple/words/")
	link := "http://127.0.0.1:3128/pypi/files/" + sum + "/words-1.0-py3-none-any.whl"
	if code != http.StatusOK || strings.Count(page, "<a ") != 1 || !strings.Contains(page, `<a href="`+link+`#sha256=`+sum+`" data-requires-python="&gt;=3.6">words-1.0-py3-none-any.whl</a>`) {
		t.Fatalf("%d: %s", code, page)
	}
	for range 2 {
		if code, body := ask(t, x, strings.TrimPrefix(link, "http://127.0.0.1:3128")); code != http.StatusOK || !strings.HasPrefix(body, "PK") {
			t.Errorf("%d: %q", code, body)
		}
	}
	if asked := b.registry.Asked(); len(asked) != 2 {
		t.Errorf("asked for %v", asked)
	}
	for _, path := range []string{"/pypi/simple/other/", "/pypi/simple/", "/pypi/files/" + strings.Repeat("0", 64) + "/x.whl", "/pypi/files/" + sum + "/../x", "/pypi/words/json"} {
		if code, body := ask(t, x, path); code != http.StatusNotFound || !strings.Contains(body, "no requirements file") {
			t.Errorf("%s: %d: %s", path, code, body)
		}
	}
	if x.Wrong() != nil || len(b.registry.Asked()) > 0 {
		t.Error(x.Wrong())
	}
}

// An index that is down, or has another file, or sends elsewhere.
func TestWhatGoesWrongWithAnIndex(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		page string
		kind fault.Kind
		says string
	}{
		"it has nothing":       {`{"files": []}`, fault.NotFound, "has no file of it with a hash that is named"},
		"no page":              {"\xff\x00", fault.NotFound, "has no file of it with a hash that is named"},
		"another content":      {`{"files": [{"filename": "w.whl", "url": "/evil", "hashes": {"sha256": "SUM"}}]}`, fault.Invalid, "it has the hash sha256-"},
		"a neighbour":          {`{"files": [{"filename": "w.whl", "url": "http://inside.example/w", "hashes": {"sha256": "SUM"}}]}`, fault.Unavailable, "is refused: it is 10.0.0.7"},
		"elsewhere, forbidden": {`{"files": [{"filename": "w.whl", "url": "http://public.example/forbidden", "hashes": {"sha256": "SUM"}}]}`, fault.Unavailable, "it answered 403"},
		"large":                {strings.Repeat(" ", 65<<20), fault.Invalid, "it has more than 64 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			sum := strings.TrimPrefix(b.registry.Python(t, "words", "1.0", "hello"), "sha256:")
			b.registry.Put("/simple/words/", []byte(strings.ReplaceAll(c.page, "SUM", sum)))
			b.registry.Put("/evil", []byte("evil"))
			b.registry.Wrong(func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == "/forbidden" {
					w.WriteHeader(http.StatusForbidden)
				}
				return r.URL.Path == "/forbidden"
			})
			x := b.session(map[string]string{"requirements.txt": "words==1.0 --hash=sha256:" + sum + "\n"}, false)
			ask(t, x, "/pypi/simple/words/")
			code, body := ask(t, x, "/pypi/files/"+sum+"/w.whl")
			if code != http.StatusForbidden || fault.KindOf(x.Wrong()) != c.kind || !strings.Contains(body, c.says) || !strings.Contains(body, `which "requirements.txt" names`) {
				t.Errorf("%d: %s: %s", code, body, fault.KindOf(x.Wrong()))
			}
		})
	}
}
