package api

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"noxmesh/document/documenttest"
	"noxmesh/internal/fault"
)

// FuzzRead gives any body and any query to every call: it is refused in words,
// or taken as what crosses again as the same.
func FuzzRead(f *testing.F) {
	seeds := [][]byte{
		[]byte(`{"module":"site","repository":"https://git.example.org/site.git","ref":"refs/heads/main"}`),
		[]byte(`{"settings":{"port":"8080"}}`), []byte(`{"module":"\u001b[2J"}`), []byte(`{"policy":"auto"}`),
	}
	for _, s := range append(seeds, documenttest.Hostile()...) {
		f.Add(s, "", "site")
		f.Add(s, "limit=1&module=x", "a/b")
	}
	f.Fuzz(func(t *testing.T, body []byte, query, name string) {
		into[ModuleAddIn](t, ModuleAdd().Row, body, query, name)
		into[ModuleIn](t, ModuleShow().Row, body, query, name)
		into[AssignIn](t, Assign().Row, body, query, name)
		into[UnassignIn](t, Unassign().Row, body, query, name)
		into[BuildsIn](t, Builds().Row, body, query, name)
		into[LogIn](t, Log().Row, body, query, name)
		into[CollectIn](t, Collect().Row, body, query, name)
		into[BuilderIn](t, BuilderAdd().Row, body, query, name)
		into[LoginAddIn](t, LoginAdd().Row, body, query, name)
		into[JoinIn](t, Join().Row, body, query, name)
		into[HookIn](t, Hook().Row, body, query, name)
	})
}

func into[In any](t *testing.T, row Row, body []byte, query, name string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), row.Method, "http://mesh.example/", bytes.NewReader(body))
	r.URL.RawQuery = query
	for _, field := range []string{"module", "node", "build", "builder", "name"} {
		r.SetPathValue(field, name)
	}
	done := documenttest.Bounded(t, len(body)+len(query))
	in, err := read[In](row, r)
	done()
	if err != nil {
		documenttest.Plain(t, err)
		if fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: kind %s: %v", row.Name, fault.KindOf(err), err)
		}
		return
	}
	if _, err := target(row, in); err != nil && name != "" {
		t.Errorf("%s: what was read has no address: %v", row.Name, err)
	}
}

// FuzzAnswer gives any answer to the client: it is taken, or refused in words.
func FuzzAnswer(f *testing.F) {
	for _, s := range append(documenttest.Hostile(), []byte(`{"kind":"denied","error":"no","hint":"ask"}`), []byte(`{"modules":[{"module":"site","policy":"auto"}]}`)) {
		f.Add(200, s)
		f.Add(403, s)
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		c := &Client{base: "http://mesh.example", where: "mesh.example", http: &http.Client{Transport: answering{status, body}}}
		done := documenttest.Bounded(t, len(body))
		_, err := Do(t.Context(), c, Modules(), Nothing{})
		done()
		if status != http.StatusOK && err == nil {
			t.Errorf("the answer %d is taken", status)
		}
	})
}

type answering struct {
	status int
	body   []byte
}

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: a.status, Status: "as it is", Header: http.Header{}, Request: r,
		ContentLength: -1, Body: io.NopCloser(bytes.NewReader(a.body)),
	}, nil
}
