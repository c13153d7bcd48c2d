package git

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"noxmesh/internal/fault"
	"noxmesh/internal/git/gitserve"
)

// fetched is one fetch that a forge was asked for.
type fetched struct {
	filter bool
	wants  []string
	bytes  int // of the answer
}

// tallied is a forge that counts what it is asked for. Odd, where it is set, may
// answer a fetch in its place.
type tallied struct {
	*forge

	under sync.WaitGroup // what is being answered: whoever asked may have gone away before its end
	mu    sync.Mutex     // guards what follows
	odd   func(http.ResponseWriter, *http.Request, fetched) bool
	all   []fetched
}

var wanted = regexp.MustCompile(`want ([0-9a-f]{40,64})`)

func newTallied(t *testing.T) *tallied {
	t.Helper()
	c := &tallied{forge: &forge{t: t, root: t.TempDir()}}
	h := gitserve.Handler(c.root)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		c.under.Add(1)
		defer c.under.Done()
		var in io.Reader = q.Body
		if q.Header.Get("Content-Encoding") == "gzip" {
			z, err := gzip.NewReader(q.Body)
			if err != nil {
				t.Error(err)
				return
			}
			in = z
			q.Header.Del("Content-Encoding")
		}
		body, err := io.ReadAll(in)
		if err != nil {
			return
		}
		q.Body, q.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		f := fetched{filter: bytes.Contains(body, []byte("filter blob:"))}
		for _, m := range wanted.FindAllSubmatch(body, -1) {
			f.wants = append(f.wants, string(m[1]))
		}
		if len(f.wants) == 0 {
			h.ServeHTTP(w, q)
			return
		}
		to := &tally{ResponseWriter: w}
		c.mu.Lock()
		odd := c.odd
		c.mu.Unlock()
		if odd == nil || !odd(w, q, f) {
			h.ServeHTTP(to, q)
		}
		f.bytes = to.n
		c.mu.Lock()
		c.all = append(c.all, f)
		c.mu.Unlock()
	}))
	t.Cleanup(srv.Close)
	c.url = srv.URL
	return c
}

// is makes it odd, or nothing of the kind.
func (c *tallied) is(odd func(http.ResponseWriter, *http.Request, fetched) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.odd = odd
}

// asked is what was asked for since the last time.
func (c *tallied) asked() (all []fetched) {
	c.under.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	all, c.all = c.all, nil
	return all
}

type tally struct {
	http.ResponseWriter
	n int
}

func (c *tally) Write(p []byte) (int, error) {
	c.n += len(p)
	return c.ResponseWriter.Write(p)
}

// noise is n bytes that no packing makes smaller.
func noise(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		sum := sha256.Sum256(fmt.Append(nil, n, i))
		b.Write(sum[:])
	}
	return b.String()[:n]
}

// wantsOnly reports whether this fetch wants nothing but these objects of the repository.
func (f fetched) wantsOnly(r *repo, names ...string) bool {
	var ids []string
	for _, n := range names {
		ids = append(ids, r.git("rev-parse", n))
	}
	slices.Sort(ids)
	slices.Sort(f.wants)
	return slices.Equal(slices.Compact(f.wants), slices.Compact(ids))
}

// TestOnlyWhatIsReadIsFetched: a commit's trees say whether anything is to be
// read, and then exactly that comes.
func TestOnlyWhatIsReadIsFetched(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, newGit maker) {
		f, g := newTallied(t), newGit(t, nil)
		r := f.repo("mono", map[string]string{
			"go.work": "W", "big": noise(1 << 20), "a/module.json": "{}", "a/a.go": "a", "a/copy.go": "a", "a/image": noise(2 << 20), "a/b/b.go": "b", "c/c.go": "c",
		})
		p := Place{URL: r.url, Folder: "a"}
		found := look(t, g, p, Known{Wants: goFiles, FileLimit: fileLimit})
		all := f.asked()
		if list(found.Files) != "a/a.go=a a/b/b.go=b a/copy.go=a go.work=W " || len(all) != 2 || !all[0].filter || !all[0].wantsOnly(r, "HEAD") ||
			!all[1].wantsOnly(r, "HEAD:a/module.json", "HEAD:a/a.go", "HEAD:a/b/b.go", "HEAD:go.work") || all[0].bytes+all[1].bytes > 10_000 {
			t.Fatalf("%s %+v", list(found.Files), all)
		}
		known := Known{Commit: found.Commit, Code: found.Code, Wants: goFiles, FileLimit: fileLimit}
		r.commit("beside", map[string]string{"c/c.go": "c2", "big": noise(1<<20 + 1)})
		again := look(t, g, p, known)
		if all = f.asked(); !again.Kept || again.Manifest != nil || again.Files != nil || again.Tree != found.Tree || again.Code != found.Code ||
			len(all) != 1 || !all[0].filter || !all[0].wantsOnly(r, "HEAD") || all[0].bytes > 5_000 {
			t.Fatalf("a folder that was left alone: %+v %+v", again, all)
		}
		r.commit("in it", map[string]string{"a/a.go": "a2"})
		if again = look(t, g, p, known); again.Kept || string(again.Manifest) != "{}" || len(again.Files) != 4 || len(f.asked()) != 2 {
			t.Fatalf("a folder that was not: %+v", again)
		}
		if again = look(t, g, Place{URL: r.url, Folder: "c"}, known); again.Cause != NoFile || len(f.asked()) != 1 {
			t.Fatalf("no module: %+v", again)
		}
		if left, err := os.ReadDir(g.tmp); err != nil || len(left) != 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
	})
}

// TestOfAWholeRepositoryTheSmallComesAtOnce, and of the large what will be read.
func TestOfAWholeRepositoryTheSmallComesAtOnce(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, newGit maker) {
		f, g := newTallied(t), newGit(t, nil)
		r := f.repo("site", map[string]string{"module.json": "{}", "a.go": "a", "b/b.go": "b", "image": noise(2 << 20)})
		found := look(t, g, Place{URL: r.url}, Known{Wants: goFiles, FileLimit: fileLimit})
		if all := f.asked(); list(found.Files) != "a.go=a b/b.go=b " || len(all) != 1 || all[0].bytes > 10_000 {
			t.Fatalf("%s %+v", list(found.Files), all)
		}
		large := noise(1 << 20)
		r.commit("large", map[string]string{"large.go": large})
		found = look(t, g, Place{URL: r.url}, Known{Wants: goFiles, FileLimit: fileLimit, Code: found.Code})
		if all := f.asked(); list(found.Files) != "a.go=a b/b.go=b large.go="+large+" " || len(all) != 2 || !all[1].wantsOnly(r, "HEAD:large.go") {
			t.Fatalf("%d files, %+v", len(found.Files), all)
		}
		r.git("commit", "-q", "--allow-empty", "-m", "nothing")
		if again := look(t, g, Place{URL: r.url}, Known{Wants: goFiles, FileLimit: fileLimit, Code: found.Code}); !again.Kept || len(f.asked()) != 1 {
			t.Fatalf("%+v", again)
		}
	})
}

// TestAForgeThatKnowsNoFilter gives all of it at first, and is asked once.
func TestAForgeThatKnowsNoFilter(t *testing.T) {
	t.Parallel()
	f, g := newTallied(t), newGit(t, nil)
	r := f.repo("site", map[string]string{"module.json": "{}", "m/module.json": "{}", "m/a.go": "a", "image": noise(1 << 20)})
	r.git("config", "uploadpack.allowFilter", "false")
	for _, folder := range []string{"", "m", "m"} {
		found := look(t, g, Place{URL: r.url, Folder: folder}, Known{Wants: goFiles, FileLimit: fileLimit})
		if all := f.asked(); list(found.Files) != "m/a.go=a " || len(all) != 1 || all[0].bytes < 1<<20 || len(g.atOnce.until) != 0 {
			t.Fatalf("%q: %s %+v", folder, list(found.Files), all)
		}
	}
}

// refusals are the ways in which a forge does not give what it is asked for in parts.
func refusals() map[string]func(http.ResponseWriter, *http.Request, fetched) bool {
	byID := func(answer http.HandlerFunc) func(http.ResponseWriter, *http.Request, fetched) bool {
		return func(w http.ResponseWriter, q *http.Request, f fetched) bool {
			if len(f.wants) > 1 {
				answer(w, q)
			}
			return len(f.wants) > 1
		}
	}
	says := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
			_, _ = w.Write(appendPacket(nil, "ERR "+text))
		}
	}
	return map[string]func(http.ResponseWriter, *http.Request, fetched) bool{
		"it gives no object by its id":     byID(says("want 0123 not valid")),
		"it says that it has none of them": byID(says("upload-pack: not our ref 0123")),
		"it says that nobody may":          byID(status(403, "no")),
		"it takes no such request":         byID(status(413, "too large")),
		"it answers with a page":           byID(status(200, "<html></html>")),
		"it ends in the middle": byID(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
			_, _ = w.Write(append(appendPacket(nil, "packfile\n"), "0020\x01PACK\x00\x00\x00\x02\x00\x00\x00\x05"...))
			panic(http.ErrAbortHandler)
		}),
		"it gives not all of them": func(_ http.ResponseWriter, q *http.Request, f fetched) bool {
			if len(f.wants) > 1 {
				body, _ := io.ReadAll(q.Body)
				drop := string(appendPacket(nil, "want "+f.wants[0]+"\n"))
				body = []byte(strings.Replace(string(body), drop, "", 1))
				q.Body, q.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			}
			return false
		},
		"it knows no such filter": func(w http.ResponseWriter, q *http.Request, f fetched) bool {
			if f.filter {
				says("filter 'blob:none' not supported")(w, q)
			}
			return f.filter
		},
		"it speaks the old protocol": func(_ http.ResponseWriter, q *http.Request, _ fetched) bool { return false },
	}
}

// TestAForgeThatGivesNoParts is asked for the whole commit, and for some time for
// nothing else.
func TestAForgeThatGivesNoParts(t *testing.T) {
	t.Parallel()
	for what, odd := range refusals() {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			f, g := newTallied(t), newGit(t, nil)
			f.is(odd)
			r := f.repo("site", map[string]string{"m/module.json": "{}", "m/a.go": "a", "m/b.go": "b", "image": noise(1 << 16)})
			url := r.url
			if what == "it speaks the old protocol" {
				to := f.url
				srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
					q.Header.Del("Git-Protocol")
					proxied(t, to, w, q)
				}))
				defer srv.Close()
				url = srv.URL + "/site/.git"
			}
			known := Known{Wants: goFiles, FileLimit: fileLimit}
			found := look(t, g, Place{URL: url, Folder: "m"}, known)
			all := f.asked()
			if last := all[len(all)-1]; list(found.Files) != "m/a.go=a m/b.go=b " || string(found.Manifest) != "{}" || len(all) < 2 || last.filter || len(last.wants) != 1 {
				t.Fatalf("%s %+v", list(found.Files), all)
			}
			known.Code, known.Commit = found.Code, found.Commit
			r.commit("second", map[string]string{"image": "x", "m/a.go": "a2"})
			found = look(t, g, Place{URL: url, Folder: "m"}, known)
			if all = f.asked(); list(found.Files) != "m/a.go=a2 m/b.go=b " || slices.ContainsFunc(all, func(f fetched) bool { return f.filter }) {
				t.Fatalf("and then: %s %+v", list(found.Files), all)
			}
			g.atOnce.mu.Lock()
			for name, until := range g.atOnce.until {
				g.atOnce.until[name] = until.Add(-partsAgain)
			}
			g.atOnce.mu.Unlock()
			f.is(nil)
			if found = look(t, g, Place{URL: url, Folder: "m"}, known); list(found.Files) != "m/a.go=a2 m/b.go=b " || !f.asked()[0].filter {
				t.Errorf("it is never asked for parts again: %s", list(found.Files))
			}
		})
	}
}

// proxied passes a request on.
func proxied(t *testing.T, to string, w http.ResponseWriter, q *http.Request) {
	t.Helper()
	r, err := http.NewRequestWithContext(q.Context(), q.Method, to+q.URL.RequestURI(), q.Body)
	if err != nil {
		t.Error(err)
		return
	}
	r.Header, r.ContentLength = q.Header, q.ContentLength
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return
	}
	defer answer.Body.Close()
	w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
	w.WriteHeader(answer.StatusCode)
	_, _ = io.Copy(w, answer.Body)
}

// TestAForgeThatIsDown is not one that gives no parts.
func TestAForgeThatIsDown(t *testing.T) {
	t.Parallel()
	f, g := newTallied(t), newGit(t, nil)
	r := f.repo("site", map[string]string{"module.json": "{}", "a.go": "a"})
	f.is(func(http.ResponseWriter, *http.Request, fetched) bool { panic(http.ErrAbortHandler) })
	if _, err := g.Look(t.Context(), Place{URL: r.url}, Known{Wants: goFiles}); fault.KindOf(err) != fault.Unavailable {
		t.Fatal(err)
	}
	f.is(nil)
	if found := look(t, g, Place{URL: r.url}, Known{Wants: goFiles}); list(found.Files) != "a.go=a " || len(g.atOnce.until) != 0 {
		t.Fatalf("%s %v", list(found.Files), g.atOnce.until)
	}
	if left, err := os.ReadDir(g.tmp); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestALookThatIsStoppedAsksForNothingMore, and leaves nothing.
func TestALookThatIsStoppedAsksForNothingMore(t *testing.T) {
	t.Parallel()
	for what, stop := range map[string]func(*Git, context.CancelFunc){
		"by its caller": func(_ *Git, cancel context.CancelFunc) { cancel() },
		"by the limit":  func(*Git, context.CancelFunc) {},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			limit := time.Minute
			if what == "by the limit" {
				limit = 3 * time.Second
			}
			f, g := newTallied(t), newGit(t, func(c *Config) { c.Limit = limit })
			r := f.repo("site", map[string]string{"m/module.json": "{}", "m/a.go": "a"})
			release := make(chan struct{})
			f.is(func(_ http.ResponseWriter, q *http.Request, all fetched) bool {
				if len(all.wants) > 1 {
					stop(g, cancel)
					select {
					case <-release:
					case <-q.Context().Done():
					}
					return true
				}
				return false
			})
			_, err := g.Look(ctx, Place{URL: r.url, Folder: "m"}, Known{Wants: goFiles})
			close(release)
			if fault.KindOf(err) != fault.Unavailable || what == "by the limit" && !strings.Contains(err.Error(), "longer than") {
				t.Fatal(err)
			}
			for _, one := range f.asked() {
				if !one.filter {
					t.Errorf("it went on: %+v", one)
				}
			}
			if left, err := os.ReadDir(g.tmp); err != nil || len(left) != 0 || len(g.atOnce.until) != 0 {
				t.Errorf("left behind: %v %v %v", left, err, g.atOnce.until)
			}
		})
	}
}

// TestLargeFilesOfOthersAreNotFetched: what nobody reads may be as large as it
// will; what is read may not, and is not asked for a second time.
func TestLargeFilesOfOthersAreNotFetched(t *testing.T) {
	t.Parallel()
	f, g := newTallied(t), newGit(t, func(c *Config) { c.MaxSize = 1 << 20 })
	r := f.repo("site", map[string]string{"module.json": "{}", "a.go": "a", "image": noise(3 << 20)})
	if found := look(t, g, Place{URL: r.url}, Known{Wants: goFiles, FileLimit: fileLimit}); list(found.Files) != "a.go=a " {
		t.Fatalf("%+v", found)
	}
	f.asked()
	r.commit("large", map[string]string{"large.go": noise(3 << 20)})
	_, err := g.Look(t.Context(), Place{URL: r.url}, Known{Wants: goFiles, FileLimit: fileLimit})
	if all := f.asked(); !errors.Is(err, TooBig) || fault.KindOf(err) != fault.Invalid || len(all) != 2 || strings.Contains(err.Error(), "\n") {
		t.Fatalf("kind %v: %v, asked for %+v", fault.KindOf(err), err, all)
	}
}

// TestABombIsNoCode: a few small trees that stand for billions of files.
func TestABombIsNoCode(t *testing.T) {
	t.Parallel()
	f, g := newForge(t), newGit(t, nil)
	r := f.repo("bomb", map[string]string{"a": "a"})
	tree := r.rawTree(rawEntry{"100644", "a.go", r.object("blob", "")})
	for range 9 {
		var es []rawEntry
		for _, n := range strings.Split("0123456789", "") {
			es = append(es, rawEntry{"40000", n, tree})
		}
		tree = r.rawTree(es...)
	}
	r.commitTree("refs/heads/main", tree)
	if _, err := g.Look(t.Context(), Place{URL: r.url}, Known{Wants: goFiles}); !errors.Is(err, TooBig) || fault.KindOf(err) != fault.Invalid {
		t.Fatalf("kind %v: %v", fault.KindOf(err), err)
	}
}

// TestInPartsAndAtOnceFindTheSame of whatever stands in a commit.
func TestInPartsAndAtOnceFindTheSame(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	r := f.repo("odd", map[string]string{"a": "a"})
	text, empty := r.object("blob", "{}"), r.object("blob", "")
	link := r.object("blob", "../x")
	large := r.object("blob", strings.Repeat("x", 1<<20+1))
	good := r.object("blob", "[submodule \"x\"]\n\tpath = x\n\turl = https://h/x\n")
	evil := r.object("blob", "[submodule \"x\"]\n\tpath = x\n\turl = --upload-pack=x\n")
	file := func(name, id string) rawEntry { return rawEntry{"100644", name, id} }
	dir := func(name string, es ...rawEntry) rawEntry { return rawEntry{"40000", name, r.rawTree(es...)} }
	trees := map[string]string{
		"a module": r.rawTree(file("a.go", text), dir("m", file("a.go", text), file("module.json", text)), file("module.json", text)),
		"empty":    r.rawTree(file("a.go", empty), dir("m", file("module.json", empty)), file("module.json", empty)),
		"links":    r.rawTree(rawEntry{"120000", "a.go", link}, dir("m", rawEntry{"120000", "a.go", link}, file("module.json", text)), rawEntry{"120000", "module.json", link}),
		"large":    r.rawTree(file("a.go", large), dir("m", file("a.go", large), file("module.json", text)), file("module.json", large)),
		"a folder": r.rawTree(dir("m", dir("module.json", file("a.go", text))), dir("module.json", file("module.json", text))),
		"nothing":  r.rawTree(file("m", text)),
		"good":     r.rawTree(file(".gitmodules", good), file("a.go", text), dir("m", file(".gitmodules", good), file("module.json", text)), file("module.json", text)),
		"evil":     r.rawTree(file(".GitModules", evil), file("a.go", text), dir("m", file("module.json", text)), file("module.json", text)),
		"evil in":  r.rawTree(file("a.go", text), dir("m", file(".gitmodules", evil), file("module.json", text)), file("module.json", text)),
		"evil 8.3": r.rawTree(file("GITMOD~1", evil), dir("m", file("module.json", text)), file("module.json", text)),
		"of others": r.rawTree(dir("m", rawEntry{"160000", "a.go", strings.Repeat("1", 40)}, file("module.json", text)),
			rawEntry{"160000", "module.json", strings.Repeat("1", 40)}),
	}
	for name, tree := range trees {
		branch := "refs/heads/" + strings.ReplaceAll(name, " ", "-")
		r.commitTree(branch, tree)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parts, once := newGit(t, nil), newGit(t, nil)
			once.atOnce.remember(hostOf(r.url), time.Now())
			for _, folder := range []string{"", "m", "m/m"} {
				for _, known := range []Known{{}, {Wants: goFiles}, {Wants: goFiles, FileLimit: 1}} {
					p := Place{URL: r.url, Ref: branch, Folder: folder}
					a, err := parts.Look(t.Context(), p, known)
					b, otherErr := once.Look(t.Context(), p, known)
					if !reflect.DeepEqual(a, b) || fault.KindOf(err) != fault.KindOf(otherErr) || (err == nil) == strings.Contains(name, "evil") {
						t.Errorf("%q: in parts %+v %v\nat once %+v %v", folder, a, err, b, otherErr)
					}
				}
			}
			if len(parts.atOnce.until) > 0 {
				t.Error("it was asked at once")
			}
		})
	}
}

// TestAFolderOfThisMachineGivesParts too, whatever it is configured to give.
func TestAFolderOfThisMachineGivesParts(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	r := f.repo("site", map[string]string{"module.json": "{}", "a.go": "a", "image": noise(3 << 20)})
	r.git("config", "--unset", "uploadpack.allowFilter")
	g := newGit(t, func(c *Config) { c.MaxSize, c.Allow.Folders = 1<<20, []string{f.root} })
	if found := look(t, g, Place{URL: "file://" + filepath.Join(r.dir)}, Known{Wants: goFiles}); list(found.Files) != "a.go=a " {
		t.Fatalf("%+v", found)
	}
}
