package sim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"noxmesh/internal/fault"
	"noxmesh/internal/git"
	"noxmesh/manifest"
)

// files are a tree, by path.
type files map[string]string

func (f files) tree() string {
	h := sha256.New()
	for _, p := range slices.Sorted(maps.Keys(f)) {
		fmt.Fprintf(h, "%q %q\n", p, f[p])
	}
	return hex.EncodeToString(h.Sum(nil))[:40]
}

// commit is one state of a repository.
type commit struct {
	module  string
	edition int
	id      string
	tree    string
	files   files
	on      map[string]string // what a node that runs it has, by path
}

// repository is one module's, as the forge has it.
type repository struct {
	commits []*commit
	head    *commit // nil: the branch is not there
	lag     *commit // what the forge shows while it lags
	state   error   // what the forge says instead of answering; nil where it answers
}

// forge is every repository there is.
type forge struct{ repositories map[string]*repository }

func (f *forge) of(url string) *repository {
	return f.repositories[strings.TrimSuffix(strings.TrimPrefix(url, "https://forge.test/"), ".git")]
}

func (f *forge) find(url, id string) *commit {
	if r := f.of(url); r != nil {
		for _, c := range r.commits {
			if c.id == id {
				return c
			}
		}
	}
	return nil
}

// shown is what the forge shows of a repository now.
func (r *repository) shown() (*commit, error) {
	switch {
	case r.state != nil:
		return nil, r.state
	case r.lag != nil:
		return r.lag, nil
	case r.head == nil:
		return nil, fault.Wrap(fault.NotFound, git.NoRef, "look for the branch")
	}
	return r.head, nil
}

// eyes is the forge as one controller sees it.
type eyes struct {
	w *world
	p *program
}

// Look is git's.
func (e eyes) Look(ctx context.Context, p git.Place, known git.Known) (git.Found, error) {
	if err := e.p.turn(ctx, "look "+p.URL); err != nil {
		return git.Found{}, err
	}
	if e.w.chance(0.03) {
		return git.Found{}, fault.New(fault.Unavailable, "the forge answered 502")
	}
	r := e.w.forge.of(p.URL)
	if r == nil {
		return git.Found{}, fault.Wrap(fault.NotFound, git.NoRepository, "look")
	}
	c, err := r.shown()
	if err != nil {
		return git.Found{}, err
	}
	found := git.Found{Ref: "refs/heads/main", Commit: c.id}
	if c.id == known.Commit {
		found.Unchanged = true
		return found, nil
	}
	found.Tree = c.tree
	text, ok := c.files[manifest.Name]
	if !ok {
		found.Why = "there is no module.json"
		return found, nil
	}
	found.Manifest = []byte(text)
	if found.Code = c.tree; found.Code == known.Code {
		return found, nil
	}
	for path, text := range c.files {
		if known.Wants(path, false) {
			found.Files = append(found.Files, git.File{Path: path, Text: []byte(text)})
		}
	}
	return found, nil
}

// Held is git's: this forge never wants to be left alone.
func (e eyes) Held(string, time.Time) (git.Held, bool) { return git.Held{}, false }

// Whole is git's; nobody asks for it here.
func (eyes) Whole(context.Context, string, string) (string, error) { return "", git.NoCommit }

// Descends is git's.
func (e eyes) Descends(ctx context.Context, p git.Place, to, from string) (git.Descent, error) {
	if err := e.p.turn(ctx, "asks for the history of "+p.URL); err != nil {
		return "", err
	}
	r := e.w.forge.of(p.URL)
	if r == nil || e.w.chance(0.1) {
		return "", fault.New(fault.Unavailable, "the forge answered 502")
	}
	for _, c := range r.commits {
		switch c.id {
		case from:
			return git.Forward, nil
		case to:
			return git.Rewritten, nil
		}
	}
	return git.Unrelated, nil
}

// checkout is the forge as a builder sees it.
type checkout struct{ p *program }

// Checkout is git's.
func (c checkout) Checkout(ctx context.Context, o git.Order, dir string) (git.Checked, error) {
	if err := c.p.turn(ctx, "clone "+o.URL); err != nil {
		return git.Checked{}, err
	}
	if r := c.p.w.forge.of(o.URL); r == nil || r.state != nil || c.p.w.chance(0.02) {
		return git.Checked{}, fault.New(fault.Unavailable, "the forge does not answer")
	}
	found := c.p.w.forge.find(o.URL, o.Commit)
	if found == nil {
		return git.Checked{}, fault.Wrap(fault.NotFound, git.NoCommit, "clone")
	}
	for path, text := range found.files {
		at := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return git.Checked{}, err
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			return git.Checked{}, err
		}
	}
	return git.Checked{Tree: found.tree}, nil
}

// The modules of every seed: one is an archive that is built and tested, one is
// files, and one is nothing but what it requires. Each has code too: what is
// imported of kit goes into motd, and with that into site. Where each is on a
// node is another matter: kit requires what site provides.
const (
	site = "site"
	motd = "motd"
	kit  = "kit"
)

// write makes the next commit of a module. Its number is in everything that a
// node gets of it; a commit that changes nothing there has the number before.
func (w *world) write(module string, edition int) *commit {
	w.edition++
	c := &commit{module: module, edition: edition, files: files{"README": fmt.Sprintf("commit %d", w.edition)}, on: map[string]string{}}
	n := fmt.Sprintf("edition %d of %s\n", edition, module)
	w.code(c)
	switch module {
	case site:
		c.files["module.json"] = `{"module": "site", "provides": ["pages"], "resources": [
			{"id": "pages", "type": "archive", "artifact": "pages", "path": "/opt/site"}],
			"build": {"run": [["make"]], "test": [["check"]], "artifacts": {"pages": {"type": "archive", "path": "public"}}}}`
		c.files["public/index.html"], c.on["/opt/site/index.html"] = n, n
		c.files["public/css/style.css"], c.on["/opt/site/css/style.css"] = "same in all\n", "same in all\n"
		if edition%3 == 1 { // some editions have a file more, so that the next one takes it away
			c.files["public/extra.html"], c.on["/opt/site/extra.html"] = n, n
		}
	case motd:
		c.files["module.json"] = fmt.Sprintf(`{"module": "motd", "resources": [
			{"id": "text", "type": "file", "path": "/etc/motd", "from": "motd.txt"},
			{"id": "conf", "type": "file", "path": "/etc/motd.d/conf", "content": "conf %d\n", "mode": "0600"}%s],
			"build": {"artifacts": {"text": {"type": "library", "language": "go"}}}}`, edition, more(edition))
		c.files["motd.txt"], c.on["/etc/motd"] = n, n
		c.on["/etc/motd.d/conf"] = fmt.Sprintf("conf %d\n", edition)
		if edition%2 == 0 {
			c.on["/etc/motd.d/even"] = "even\n"
		}
		for i := range many(edition) {
			c.on[fmt.Sprintf("/etc/motd.d/m%d", i)] = "m\n"
		}
	case kit:
		c.files["module.json"] = `{"module": "kit", "requires": ["pages"],
			"build": {"test": [["check"]], "artifacts": {"tools": {"type": "library", "language": "go"}}}}`
	}
	c.tree = c.files.tree()
	sum := sha256.Sum256([]byte(fmt.Sprintf("%d %s %s %d", w.seed, module, c.tree, w.edition)))
	c.id = hex.EncodeToString(sum[:])[:40]
	r := w.forge.repositories[module]
	r.commits = append(r.commits, c)
	r.head = c
	return c
}

func more(edition int) string {
	if edition%2 == 0 {
		return `, {"id": "even", "type": "file", "path": "/etc/motd.d/even", "content": "even\n"}`
	}
	var all strings.Builder
	for i := range many(edition) {
		fmt.Fprintf(&all, `, {"id": "m%d", "type": "file", "path": "/etc/motd.d/m%d", "content": "m\n"}`, i, i)
	}
	return all.String()
}

// many is how many files an edition of motd has more than the others: so many that a
// person is asked before a node loses them.
func many(edition int) int {
	if edition%4 == 3 {
		return 10
	}
	return 0
}
