package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	mesh "noxmesh"
	"noxmesh/declaration"
	"noxmesh/delivery"
	"noxmesh/delivery/build"
	"noxmesh/delivery/source"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/delivery/verdict"
	"noxmesh/document"
	identitystore "noxmesh/identity/store"
	"noxmesh/internal/db"
	"noxmesh/internal/db/dbtest"
	inventorystore "noxmesh/inventory/store"
	"noxmesh/link"
	"noxmesh/manifest"
	"noxmesh/report"
	"noxmesh/trouble"
	troublestore "noxmesh/trouble/store"
)

// bare is a controller that stands on a record and on nothing else.
func bare(record Record) *Controller {
	cfg := Default()
	cfg.Log = slog.New(slog.DiscardHandler)
	c := newController(cfg)
	c.db = record
	return c
}

// Whatever is written, the book says what the record says: the changes that the
// writes name are all that there are.
func TestTheBookIsTheRecord(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, shared *db.DB) {
		onPostgres, tries := strings.HasSuffix(t.Name(), "postgres"), 0
		rapid.Check(t, func(rt *rapid.T) {
			t, d, step := rt, shared, 0
			if tries++; tries > 1 {
				if onPostgres || tries > 8 {
					return // a record for each try takes too long
				}
				d = fresh(rt)
				defer d.Close()
			}
			c := bare(d)
			for range rapid.IntRange(20, 100).Draw(t, "writes") {
				step++
				at := time.UnixMilli(1_700_000_000_000 + int64(step)*1000).UTC()
				for range rapid.IntRange(1, 3).Draw(t, "in one") {
					what := anyWrite(t, step, at)
					_ = c.write(context.Background(), func(tx *db.Tx) error { // many are refused, and change nothing
						if step%2 == 0 {
							_ = tx.Part(what)
							return nil
						}
						return what(tx)
					})
				}
				if rapid.Bool().Draw(t, "look") {
					compare(t, c)
				}
			}
			compare(t, c)
		})
	})
}

// What another process writes is seen too, and so is what changed behind the
// back of the revision, later.
func TestTheBookSeesWhatOthersWrite(t *testing.T) {
	t.Parallel()
	dbtest.EachAddress(t, func(t *testing.T, dsn string) {
		mine, other := dbtest.Open(t, dsn, dbtest.Holder), dbtest.Open(t, dsn, dbtest.Holder)
		c := bare(mine)
		add := func(d *db.DB, name string) {
			t.Helper()
			dbtest.Write(t, d, func(tx *db.Tx) error {
				return deliverystore.AddModule(tx, mesh.Module{Name: name, Repository: "r"}, "me", time.Now())
			})
		}
		want := func(names ...string) {
			t.Helper()
			err := c.with(t.Context(), func(v *view) error {
				if !slices.Equal(v.names, names) {
					t.Errorf("the book knows %v, want %v", v.names, names)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
		want()
		add(mine, "a")
		want("a")
		add(other, "b")
		add(mine, "c")
		want("a", "b", "c")
		if _, err := other.TakeOver(t.Context(), "another"); err != nil {
			t.Fatal(err)
		}
		add(other, "d")
		want("a", "b", "c", "d")
		if _, err := c.recheckStep(t.Context(), ""); err != nil {
			t.Error(err)
		}
		c.book.is.setModule("ghost", deliverystore.ModuleRow{}, true)
		if _, err := c.recheckStep(t.Context(), ""); err == nil {
			t.Error("the book holds what the record does not, and nothing says so")
		}
		want("a", "b", "c", "d")
	})
}

// fresh is an empty record.
func fresh(t *rapid.T) *db.DB {
	dir, err := os.MkdirTemp("", "mesh-book-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	d, err := db.Open(context.Background(), "sqlite:"+filepath.Join(dir, "record.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Resume(context.Background(), "test"); err != nil {
		t.Fatal(err)
	}
	return d
}

func compare(t *rapid.T, c *Controller) {
	if err := c.upToDate(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.recheckStep(context.Background(), ""); err != nil {
		t.Fatal(err)
	}
}

func anyWrite(t *rapid.T, step int, at time.Time) func(*db.Tx) error {
	node := rapid.SampledFrom([]string{"node0001", "node0002", "node0003"}).Draw(t, "node")
	module := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "module")
	sum := document.Sum([]byte(rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "what")))
	tuple := declaration.Tuple{Epoch: 1, Generation: int64(rapid.IntRange(0, 3).Draw(t, "generation")), Digest: sum}
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "p"}), 0, 2, rapid.ID[string]).Draw(t, "names")
	writes := map[string]func(*db.Tx) error{
		"add node": func(tx *db.Tx) error {
			return inventorystore.AddNode(tx, inventorystore.NewNode{ID: fmt.Sprintf("%s%d", node, step/40), Name: node, At: at})
		},
		"join": func(tx *db.Tx) error {
			n, err := inventorystore.Node(tx, node)
			if err != nil {
				return err
			}
			return inventorystore.JoinNode(tx, inventorystore.Joining{ID: n.ID, Sign: link.PublicKey(sum), Nats: string(sum), Host: "v", Speaks: []int{1}, At: at})
		},
		"remove node": onNode(node, func(tx *db.Tx, id string) error { return inventorystore.RemoveNode(tx, id, at) }),
		"assign": onNode(node, func(tx *db.Tx, id string) error {
			return inventorystore.Assign(tx, mesh.Assignment{Module: module, Node: id, Settings: map[string]string{"s": string(sum)}}, "me", at)
		}),
		"unassign": onNode(node, func(tx *db.Tx, id string) error { return inventorystore.Unassign(tx, module, id) }),
		"hello": onNode(node, func(tx *db.Tx, id string) error {
			if _, err := inventorystore.Heard(tx, link.Hello{Node: id, Counter: int64(step), Accepted: tuple, Speaks: []int{1}}, at); err != nil {
				return err
			}
			return inventorystore.SaveSent(tx, id, tuple, at)
		}),
		"finding": onNode(node, func(tx *db.Tx, id string) error { return inventorystore.SetFinding(tx, id, first(names)) }),
		"issue": onNode(node, func(tx *db.Tx, id string) error {
			_, err := inventorystore.Issue(tx, inventorystore.Issuing{Node: id, Digest: sum, Modules: names, At: at})
			return err
		}),
		"report": onNode(node, func(tx *db.Tx, id string) error {
			r := report.Report{Node: id, Sequence: int64(step), Outcome: report.OutcomeApplied, Accepted: tuple}
			if step%3 == 0 {
				r.Facts = &report.Facts{OS: "linux", Arch: "amd64", Capabilities: names}
			}
			for _, name := range names {
				r.Modules = append(r.Modules, declaration.Module{Module: name, Content: document.Sum([]byte(name + string(sum)))})
			}
			_, err := inventorystore.SaveReport(tx, r, []byte("envelope"), at)
			return err
		}),
		"add module": func(tx *db.Tx) error {
			return deliverystore.AddModule(tx, mesh.Module{Name: module, Repository: "r"}, "me", at)
		},
		"remove module": func(tx *db.Tx) error { return deliverystore.RemoveModule(tx, module, at) },
		"policy":        func(tx *db.Tx) error { return deliverystore.SetPolicy(tx, module, "auto", "me", at) },
		"source": func(tx *db.Tx) error {
			return deliverystore.SaveSource(tx, source.Source{
				Module: module, Commit: string(sum), State: source.Read, Manifest: manifest.Source{Module: module, Requires: names, Provides: append(manifest.OnNode("p"), manifest.Provided{Name: "q", Scope: manifest.MeshScope})},
			})
		},
		"ask":      func(tx *db.Tx) error { return deliverystore.AddRequest(tx, request(module, sum, step, at)) },
		"withdraw": func(tx *db.Tx) error { return deliverystore.Withdraw(tx, request(module, sum, step, at).ID, "why", at) },
		"build":    func(tx *db.Tx) error { return made(tx, module, names, sum, at) },
		"declare": onNode(node, func(tx *db.Tx, id string) error {
			all, err := deliverystore.MadeBuilds(tx, module)
			if err != nil || len(all) == 0 {
				return err
			}
			_, err = deliverystore.Declare(tx, deliverystore.DeclareWrite{Module: module, Build: all[0].ID, Nodes: []string{id}, By: byPolicy, At: at})
			return err
		}),
		"collect": func(tx *db.Tx) error {
			all, err := deliverystore.MadeBuilds(tx, module)
			for _, b := range all {
				err = errors.Join(err, deliverystore.MarkCollected(tx, b.ID, at))
			}
			return err
		},
		"retire": func(tx *db.Tx) error {
			lines, err := deliverystore.Lines(tx)
			if err != nil {
				return err
			}
			return deliverystore.RemoveLines(tx, delivery.Retire(lines, delivery.Retention{Builds: 1, Logs: 1}), at)
		},
		"undeclare": onNode(node, func(tx *db.Tx, id string) error { return deliverystore.Undeclare(tx, module, id) }),
		"trouble": func(tx *db.Tx) error {
			return troublestore.Save(tx, trouble.Trouble{Key: "build/" + module, Count: int64(step), Since: at})
		},
		"clear": func(tx *db.Tx) error { return troublestore.Clear(tx, "build/"+module) },
		"builder": func(tx *db.Tx) error {
			return identitystore.AddBuilder(tx, identitystore.BuilderRow{ID: fmt.Sprintf("builder%d", step), Name: module, AddedAt: at})
		},
	}
	kinds := make([]string, 0, len(writes))
	for kind := range writes {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	return writes[rapid.SampledFrom(kinds).Draw(t, "kind")]
}

func first(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

func onNode(name string, f func(*db.Tx, string) error) func(*db.Tx) error {
	return func(tx *db.Tx) error {
		n, err := inventorystore.Node(tx, name)
		if err != nil {
			return err
		}
		return f(tx, n.ID)
	}
}

func request(module string, sum document.Digest, step int, at time.Time) deliverystore.RequestRow {
	r := build.Request{Format: 1, ID: fmt.Sprintf("%s-%d", module, step%7), Module: module, Commit: sum.Hex(), Platform: "p", Attempt: 1}
	return deliverystore.RequestRow{Request: r, MadeAt: at}
}

// made is a build that came as the answer to a request.
func made(tx *db.Tx, module string, requires []string, sum document.Digest, at time.Time) error {
	return madeOf(tx, manifest.Built{Format: 1, Module: module, Requires: requires, Provides: []manifest.Provided{{Name: "q", Scope: manifest.MeshScope}}}, sum, at)
}

func madeOf(tx *db.Tx, m manifest.Built, sum document.Digest, at time.Time) error {
	module := m.Module
	m.Built = manifest.Provenance{Commit: sum.Hex(), Tree: sum.Hex(), Platform: "p", Closure: []manifest.Input{}}
	a := build.Answer{Request: "r-" + module + sum.Hex() + at.String(), Builder: "builder1", Outcome: build.OutcomeBuilt, Manifest: &m, Where: &build.Where{}, Tests: build.TestsNone}
	var err error
	if a.Build, err = m.BuildDigest(); err != nil {
		return err
	}
	if a.Content, err = m.ContentDigest(); err != nil {
		return err
	}
	r := build.Request{Format: 1, ID: a.Request, Module: module, Commit: sum.Hex(), Tree: sum.Hex(), Platform: "p", Attempt: 1, Limit: 60}
	if err := deliverystore.AddRequest(tx, deliverystore.RequestRow{Request: r, MadeAt: at}); err != nil {
		return err
	}
	for { // others may come first
		leased, err := deliverystore.Lease(tx, deliverystore.Leasing{Builder: "builder1", Platform: "p", Sandbox: true, Now: at, Lease: time.Minute})
		if err != nil || leased == nil {
			return err
		}
		if leased.ID == a.Request {
			break
		}
		if err := deliverystore.Withdraw(tx, leased.ID, "another comes first", at); err != nil {
			return err
		}
	}
	_, err = deliverystore.SaveAnswer(tx, deliverystore.AnswerRow{Answer: a, Envelope: []byte("e"), Verdict: verdict.Fit, At: at})
	return err
}
