package supply

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"noxmesh/builder/lock"
	"noxmesh/internal/fault"
)

const (
	mostIndex  = 64 << 20 // of one page of an index
	mostPython = 4 << 30
)

// offered is a file of a project as an index has it.
type offered struct {
	name     string
	url      string
	hash     lock.Hash
	requires string // which Python, as the index says it; may be empty
}

// addPython serves what requirements name as an index of Python projects does.
// They name hashes and no files: which file has which hash is asked of the
// operator's index, and proven when it is fetched.
func (x *Session) addPython() {
	if x.from.Python == "" {
		return
	}
	named := map[string]lock.Python{}
	for _, p := range x.order.Locks.Python {
		all := named[p.Project]
		all.Project, all.In, all.Hashes = p.Project, p.In, append(slices.Clip(all.Hashes), p.Hashes...)
		named[p.Project] = all
	}
	for project, p := range named {
		page := x.page(p)
		x.answers["/pypi/simple/"+project+"/"] = page
		x.answers["/pypi/simple/"+project] = page
		for _, h := range p.Hashes {
			x.answers["/pypi/files/"+h.Sum] = x.wheel(p, h)
		}
	}
}

// page answers with the files of a project that requirements name.
func (x *Session) page(p lock.Python) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		all, err := x.index(r.Context(), p)
		if err != nil {
			x.fails(w, r, fault.Add(err, "the project %s, which %q names", p.Project, p.In))
			return
		}
		var b strings.Builder
		b.WriteString("<!DOCTYPE html>\n<html><body>\n")
		for _, f := range all {
			fmt.Fprintf(&b, "<a href=\"%s/pypi/files/%s/%s#sha256=%s\"", x.order.At, f.hash.Sum, url.PathEscape(f.name), f.hash.Sum)
			if f.requires != "" {
				fmt.Fprintf(&b, " data-requires-python=\"%s\"", html.EscapeString(f.requires))
			}
			fmt.Fprintf(&b, ">%s</a>\n", html.EscapeString(f.name))
		}
		b.WriteString("</body></html>\n")
		text("text/html; charset=UTF-8", b.String())(w, r)
	}
}

// wheel answers with one file of a project.
func (x *Session) wheel(p lock.Python, h lock.Hash) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		all, err := x.index(r.Context(), p)
		i := slices.IndexFunc(all, func(f offered) bool { return f.hash == h })
		if err == nil && i < 0 {
			err = fault.New(fault.NotFound, "the index has no file of it with the hash %s", h)
		}
		if err != nil {
			x.fails(w, r, fault.Add(err, "the project %s, which %q names", p.Project, p.In))
			return
		}
		of := place{url: all[i].url, own: sameHost(all[i].url, x.from.Python), said: true}
		x.give(file{name: all[i].name, in: p.In, hashes: []lock.Hash{h}, from: of, media: "application/octet-stream", most: mostPython})(w, r)
	}
}

func sameHost(a, b string) bool {
	u, errU := url.Parse(a)
	v, errV := url.Parse(b)
	return errU == nil && errV == nil && u.Scheme == v.Scheme && hostPort(u) == hostPort(v)
}

// index is what the operator's index has of a project, of what is named. It is
// asked once in a build.
func (x *Session) index(ctx context.Context, p lock.Python) ([]offered, error) {
	defer x.alone("index " + p.Project)()
	if all, known := x.indexed(p.Project); known {
		return all, nil
	}
	defer x.waits()()
	var body bytes.Buffer
	var at *url.URL
	from := place{
		url: x.from.Python + "/" + p.Project + "/", own: true,
		accept: "application/vnd.pypi.simple.v1+json, text/html;q=0.2, */*;q=0.1",
	}
	err := x.fetcher.patiently(ctx, func() (err error) {
		body.Reset()
		at, err = x.fetcher.get(ctx, from, &atMost{&body, mostIndex})
		return err
	})
	if err != nil {
		return nil, err
	}
	all := decodeIndex(body.Bytes(), at, p)
	lacks := 0
	for _, h := range p.Hashes {
		if !slices.ContainsFunc(all, func(f offered) bool { return f.hash == h }) {
			lacks++
		}
	}
	switch {
	case len(all) == 0:
		return nil, fault.New(fault.NotFound, "the index %q has no file of it with a hash that is named", from.url).
			With("is it still published? What is private cannot be fetched in this version")
	case lacks > 0:
		x.order.Note(fmt.Sprintf("dependencies: the index does not have %d of the %d files of %s", lacks, len(p.Hashes), p.Project))
	}
	x.knows(p.Project, all)
	return all, nil
}

// atMost is a writer that takes so much and no more.
type atMost struct {
	to   io.Writer
	left int
}

func (w *atMost) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, fault.New(fault.Invalid, "it has more than %d MiB, and no more is taken", mostIndex>>20)
	}
	return w.to.Write(p)
}

// decodeIndex is the files on a page of an index that are named, in its order:
// JSON as in PEP 691, or HTML as in PEP 503.
func decodeIndex(body []byte, at *url.URL, p lock.Python) (all []offered) {
	var page struct {
		Files []struct {
			Filename string            `json:"filename"`
			URL      string            `json:"url"`
			Hashes   map[string]string `json:"hashes"`
			Requires *string           `json:"requires-python"`
		} `json:"files"`
	}
	take := func(name, address, sum, requires string) {
		u, err := at.Parse(address)
		h := lock.Hash{Form: lock.SHA256, Sum: strings.ToLower(sum)}
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || !fileName(name) || !slices.Contains(p.Hashes, h) {
			return
		}
		u.Fragment = ""
		all = append(all, offered{name, u.String(), h, shortly(requires)})
	}
	if json.Unmarshal(body, &page) != nil {
		anchors(body, take)
		return all
	}
	for _, f := range page.Files {
		requires := ""
		if f.Requires != nil {
			requires = *f.Requires
		}
		take(f.Filename, f.URL, f.Hashes["sha256"], requires)
	}
	return all
}

// fileName reports whether a file of a project may be called so.
func fileName(name string) bool {
	return name != "" && len(name) < 256 && name[0] != '.' && !strings.ContainsFunc(name, func(c rune) bool {
		return c <= ' ' || c > '~' || strings.ContainsRune(`/\?#%"'<>&`, c)
	})
}

// anchors gives each link of a page that says a hash.
func anchors(page []byte, take func(name, address, sum, requires string)) {
	for rest := string(page); ; {
		_, tag, ok := strings.Cut(rest, "<")
		if !ok {
			return
		}
		if rest = tag; len(rest) < 2 || rest[0] != 'a' && rest[0] != 'A' || rest[1] > ' ' {
			continue
		}
		end := strings.IndexByte(rest, '>')
		if end < 0 {
			return
		}
		said, after := attributes(rest[1:end]), rest[end+1:]
		name, _, _ := strings.Cut(after, "<")
		address, sum, _ := strings.Cut(said["href"], "#sha256=")
		take(strings.TrimSpace(html.UnescapeString(name)), address, sum, said["data-requires-python"])
		rest = after
	}
}

// attributes are those of a tag.
func attributes(tag string) map[string]string {
	all := map[string]string{}
	for {
		key, rest, ok := strings.Cut(tag, "=")
		if !ok || rest == "" {
			return all
		}
		key = strings.ToLower(strings.TrimSpace(key))
		if i := strings.LastIndexAny(key, " \t\n"); i >= 0 {
			key = key[i+1:]
		}
		value, after, ok := strings.Cut(rest[1:], rest[:1])
		if quoted := rest[0] == '"' || rest[0] == '\''; !quoted || !ok {
			return all
		}
		all[key], tag = html.UnescapeString(value), after
	}
}

// pythonFile is the part of a path that says which file it is.
func pythonFile(key string) (kind, sum string, ok bool) {
	const files = "/pypi/files/"
	rest, ok := strings.CutPrefix(key, files)
	if !ok {
		return "", "", false
	}
	sum, name, ok := strings.Cut(rest, "/")
	return files, sum, ok && fileName(name)
}

// unnamedPython is what is said of a project that no requirements have.
func (x *Session) unnamedPython(path string) error {
	if x.from.Python == "" {
		return nowhere("Python projects", "--pypi")
	}
	project, _, _ := strings.Cut(strings.TrimPrefix(path, "simple/"), "/")
	return fault.New(fault.NotFound, "the Python project %s is in no requirements file of the tree, with a hash", shortly(project)).
		With("pip-compile --generate-hashes, or uv export, and commit what it writes; what is built from source needs what it is built with named too")
}

// envPython has pip ask here.
func (x *Session) envPython() [][2]string {
	if !slices.ContainsFunc(x.order.Locks.Files, func(f string) bool { return strings.HasSuffix(f, ".txt") }) {
		return nil
	}
	return [][2]string{
		{"PIP_INDEX_URL", x.order.At + "/pypi/simple/"},
		{"PIP_DISABLE_PIP_VERSION_CHECK", "1"},
	}
}
