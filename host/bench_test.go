package host

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/report"
)

// list is the scene in the words of the limit.
func (s *scene) list(name string) string {
	var b strings.Builder
	root := s.root(name)
	for _, d := range s.dirs {
		fmt.Fprintf(&b, "d\t%s/%s\n", root, d)
	}
	for i, f := range s.files {
		fmt.Fprintf(&b, "f\t%s/%s\t%s\t%s/%s\n", root, f, document.Sum([]byte(content(i))).Hex(), s.source, f)
	}
	for _, l := range slices.Sorted(maps.Keys(s.links)) {
		fmt.Fprintf(&b, "l\t%s/%s\t%s\n", root, l, s.links[l])
	}
	file := filepath.Join(s.dir, name+".txt")
	must(s.b, os.WriteFile(file, []byte(b.String()), 0o644))
	return file
}

// policy is the scene in the words of CFEngine, which copies a folder.
func (s *scene) policy(name string) string {
	root := s.root(name)
	text := fmt.Sprintf(`body common control { bundlesequence => { "main" }; }
body perms m(mode) { mode => "$(mode)"; rxdirs => "true"; }
body copy_from cp(s) { source => "$(s)"; compare => "digest"; }
body depth_search inf { depth => "inf"; }
body link_from ln(t) { source => "$(t)"; link_type => "symlink"; when_no_source => "force"; }
bundle agent main {
files:
  "%s/srv/." create => "true";
  "%s/srv" copy_from => cp("%s/srv"), depth_search => inf, perms => m("0644");
`, root, root, s.source)
	for _, l := range slices.Sorted(maps.Keys(s.links)) {
		text += fmt.Sprintf("  \"%s/%s\" link_from => ln(\"%s\");\n", root, l, s.links[l])
	}
	file := filepath.Join(s.dir, name+".cf")
	must(s.b, os.WriteFile(file, []byte(text+"}\n"), 0o600))
	return file
}

// declaration is the scene in ours: its bodies are in a folder of blobs, or inline.
func (s *scene) declaration(inline bool) (file, blobs string) {
	blobs = filepath.Join(s.dir, "blobs")
	must(s.b, os.MkdirAll(filepath.Join(blobs, "sha256"), 0o755))
	d := declaration.Declaration{
		Format: declaration.Format, Mesh: "meshmesh", Node: "nodenode", Name: "n", Epoch: 1, Generation: 1,
		Body: declaration.Body{Modules: []declaration.Module{{Module: "m", Content: document.Sum(nil)}}},
	}
	for i, dir := range s.dirs {
		d.Body.Resources = append(d.Body.Resources, declaration.Resource{
			ID: fmt.Sprint("m/d", i), Type: declaration.Directory, Path: "/" + dir, Mode: "0755",
		})
	}
	d.Where.Inline, d.Where.Blobs = map[document.Digest]string{}, map[document.Digest]declaration.Blob{}
	for i, f := range s.files {
		digest := document.Sum([]byte(content(i)))
		if inline {
			d.Where.Inline[digest] = content(i)
		} else {
			d.Where.Blobs[digest] = declaration.Blob{Repository: "m", Size: int64(len(content(i)))}
		}
		d.Body.Resources = append(d.Body.Resources, declaration.Resource{
			ID: fmt.Sprint("m/f", i), Type: declaration.File, Path: "/" + f, Mode: "0644", Digest: digest, Size: int64(len(content(i))),
		})
		must(s.b, os.WriteFile(filepath.Join(blobs, "sha256", digest.Hex()), []byte(content(i)), 0o644))
	}
	for i, l := range slices.Sorted(maps.Keys(s.links)) {
		d.Body.Resources = append(d.Body.Resources, declaration.Resource{
			ID: fmt.Sprint("m/l", i), Type: declaration.Link, Path: "/" + l, Target: s.links[l],
		})
	}
	b, err := d.Encode()
	must(s.b, err)
	file = filepath.Join(s.dir, fmt.Sprintf("declaration-%t.json", inline))
	must(s.b, os.WriteFile(file, b, 0o644))
	return file, blobs
}

// archived is the scene as one archive. Its declaration is in the words of packer.
func (s *scene) archived() (file, blobs string) {
	all := map[string]string{}
	for i, f := range s.files {
		all[strings.TrimPrefix(f, "srv/")] = content(i)
	}
	b := bundled(s.b, 1, func(p *packer) []declaration.Resource {
		return []declaration.Resource{p.archive("site", "/srv", all)}
	})
	return b.file, b.blobs
}

// limit is the limit on a machine of its own.
func (s *scene) limit(name string, flags ...string) contender {
	return s.process(name, append([]string{s.limiter}, append(flags, s.list(name))...)...)
}

func (s *scene) rsync(name string) contender {
	return s.process(name, "rsync", "-ac", "--delete", s.source+"/", s.root(name)+"/")
}

// cfengine is skipped also where it does not run on this machine.
func (s *scene) cfengine(name string) contender {
	c := s.process(name, "cf-agent", "-KIf", s.policy(name))
	if c.run != nil {
		if _, err := c.run(); err != nil {
			c.run = nil
		}
	}
	return c
}

// fresh is mesh-host as somebody would start it, once for each run.
func (s *scene) fresh(name string, inline bool) contender {
	file, blobs := s.declaration(inline)
	return s.applied(name, file, blobs)
}

func (s *scene) applied(name, file, blobs string) contender {
	return s.process(name, s.host, "apply", file, "--blobs", blobs, "--root", s.root(name))
}

// resident is a pass of a host that goes on running, as its drift timer makes it.
func (s *scene) resident(name string) (contender, *node) {
	file, blobs := s.declaration(false)
	return s.residing(name, file, blobs)
}

func (s *scene) residing(name, file, blobs string) (contender, *node) {
	n, err := open(configured(s.root(name)))
	must(s.b, err)
	a, from := s.declared(file, blobs)
	return inside(name, func() error {
		r, err := n.pass(s.b.Context(), a, report.CauseDrift, from)
		if err == nil && r.Outcome != report.OutcomeApplied {
			err = fault.New(fault.Conflict, "the outcome is %s", r.Outcome)
		}
		return err
	}), n
}

func (s *scene) declared(file, blobs string) (aim, where) {
	d, _, err := readDeclaration(file)
	must(s.b, err)
	tuple, err := d.Tuple()
	must(s.b, err)
	from, err := openFolder(blobs)
	must(s.b, err)
	return aim{d, tuple}, where{Where: d.Where, blobs: from}
}

// settled makes every machine what it should be, before anything is measured.
func settled(b testing.TB, all ...contender) []contender {
	b.Helper()
	for _, c := range all {
		for range 2 {
			if c.run != nil {
				_, err := c.run()
				must(b, err)
			}
		}
	}
	syscall.Sync()
	return all
}

// BenchmarkNoop is a look at a machine on which all is as declared. The limit
// opens, reads and hashes every file, and looks at every directory and link.
func BenchmarkNoop(b *testing.B) {
	b.Run("files=1000", func(b *testing.B) {
		s := newScene(b).filled(1000)
		resident, n := s.resident("resident")
		defer n.close()
		contest(b, settled(b, s.limit("limit"), s.fresh("fresh", false), s.fresh("fresh-inline", true), resident,
			s.rsync("rsync"), s.cfengine("cfengine"))...)
	})
	b.Run("files=10000", func(b *testing.B) {
		s := newScene(b).filled(10000)
		resident, n := s.resident("resident")
		defer n.close()
		contest(b, settled(b, s.limit("limit"), s.fresh("fresh", false), resident)...)
	})
	b.Run("archive=6000", func(b *testing.B) {
		s := newScene(b).filled(6000)
		file, blobs := s.archived()
		resident, n := s.residing("resident", file, blobs)
		defer n.close()
		contest(b, settled(b, s.limit("limit"), s.applied("fresh", file, blobs), resident)...)
	})
	b.Run("links=200", func(b *testing.B) {
		s := newScene(b).linked(200)
		resident, n := s.resident("resident")
		defer n.close()
		contest(b, settled(b, s.limit("limit"), s.fresh("fresh", false), resident, s.cfengine("cfengine"))...)
	})
}

// BenchmarkDrift is 1,000 files of which one was changed by hand: it is put back.
func BenchmarkDrift(b *testing.B) {
	s := newScene(b).filled(1000)
	resident, n := s.resident("resident")
	defer n.close()
	all := settled(b, s.limit("limit", "-syncfs"), s.fresh("fresh", false), resident, s.rsync("rsync"), s.cfengine("cfengine"))
	for i := range all {
		all[i].prepare = func(round int) { s.spoiled(all[i].name, round) }
	}
	contest(b, all...)
}

// BenchmarkFirst is 1,000 files where there was nothing. Ours and limit+syncfs
// are durable when they say that they are done; the others are not.
func BenchmarkFirst(b *testing.B) {
	s := newScene(b).filled(1000)
	all := []contender{
		s.limit("limit+syncfs", "-syncfs"), s.limit("limit"), s.fresh("fresh", false), s.fresh("fresh-inline", true), s.rsync("rsync"), s.cfengine("cfengine"),
	}
	for i := range all {
		all[i].prepare = func(int) {
			s.emptied(all[i].name)
			syscall.Sync()
		}
	}
	contest(b, all...)
}
