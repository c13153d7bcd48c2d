package controller

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	mesh "noxmesh"
	"noxmesh/api"
	"noxmesh/delivery/source"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/document"
	"noxmesh/internal/db"
	inventorystore "noxmesh/inventory/store"
	"noxmesh/link"
	"noxmesh/manifest"
	"noxmesh/report"
)

const (
	benchModules   = 20
	benchResources = 5
)

// fleet is a record with so many nodes, each with twenty modules of five files.
func fleet(b *testing.B, nodes int) *Controller {
	b.Helper()
	d, err := db.Open(context.Background(), "sqlite:"+b.TempDir()+"/record.db")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { d.Close() })
	if _, err := d.Resume(context.Background(), "bench"); err != nil {
		b.Fatal(err)
	}
	c := bare(d)
	at := time.UnixMilli(1_700_000_000_000)
	writeAll(b, c, func(tx *db.Tx) error {
		for m := range benchModules {
			name := fmt.Sprintf("module-%d", m)
			if err := deliverystore.AddModule(tx, mesh.Module{Name: name, Repository: "r"}, "me", at); err != nil {
				return err
			}
			err := deliverystore.SaveSource(tx, source.Source{Module: name, Commit: "c", State: source.Read, Manifest: manifest.Source{Module: name}})
			if err != nil {
				return err
			}
			if err := makeFiles(tx, name, "first", at); err != nil {
				return err
			}
		}
		for n := range nodes {
			id := nodeID(n)
			if err := inventorystore.AddNode(tx, inventorystore.NewNode{ID: id, Name: fmt.Sprintf("node-%d", n), By: "me", At: at}); err != nil {
				return err
			}
			if err := inventorystore.JoinNode(tx, inventorystore.Joining{ID: id, Sign: "k", Nats: id, Speaks: []int{1}, At: at}); err != nil {
				return err
			}
			for m := range benchModules {
				if err := inventorystore.Assign(tx, mesh.Assignment{Module: fmt.Sprintf("module-%d", m), Node: id}, "me", at); err != nil {
					return err
				}
			}
		}
		return nil
	})
	for m := range benchModules {
		declareNewest(b, c, fmt.Sprintf("module-%d", m), nodes)
	}
	return c
}

func nodeID(n int) string { return fmt.Sprintf("node%06d", n) }

func writeAll(b *testing.B, c *Controller, f func(tx *db.Tx) error) {
	b.Helper()
	if err := c.write(context.Background(), f); err != nil {
		b.Fatal(err)
	}
}

// makeFiles records a build of files.
func makeFiles(tx *db.Tx, module, text string, at time.Time) error {
	var all []manifest.BuiltResource
	for i := range benchResources {
		content := text + " on ${node.name}"
		all = append(all, manifest.BuiltResource{ID: fmt.Sprintf("file-%d", i), Type: "file", Path: fmt.Sprintf("/etc/%s/%d", module, i), Content: &content})
	}
	return madeOf(tx, manifest.Built{Format: 1, Module: module, Resources: all}, document.Sum([]byte(module+text)), at)
}

func declareNewest(b *testing.B, c *Controller, module string, nodes int) {
	b.Helper()
	ids := make([]string, nodes)
	for n := range ids {
		ids[n] = nodeID(n)
	}
	writeAll(b, c, func(tx *db.Tx) error {
		all, err := deliverystore.MadeBuilds(tx, module)
		if err != nil {
			return err
		}
		_, err = deliverystore.Declare(tx, deliverystore.DeclareWrite{Module: module, Build: all[0].ID, Nodes: ids, By: "me", At: time.Now()})
		return err
	})
}

var benchNodes = []int{250, 500, 1000, 2000}

// meter is the processor time that this process has used, which does not depend
// on who else uses the machine.
type meter time.Duration

func begin() meter { return meter(used()) }

func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// per reports the processor time of each iteration, for each of so many: where
// it grows with their number, something looks at too much.
func (m meter) per(b *testing.B, n int, unit string) {
	b.Helper()
	b.ReportMetric(float64(used()-time.Duration(m))/float64(b.N)/float64(n)/1000, "cpu-µs/"+unit)
}

// BenchmarkPlans is the plan and its digest for every node, worked out of a
// record that is read for the first time; reading it is not counted.
func BenchmarkPlans(b *testing.B) {
	for _, nodes := range benchNodes {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			c := fleet(b, nodes)
			cpu := begin()
			for b.Loop() {
				work(b, c, true)
			}
			cpu.per(b, nodes, "node")
		})
	}
}

func work(b *testing.B, c *Controller, anew bool) {
	b.Helper()
	err := c.with(context.Background(), func(v *view) error {
		for _, n := range v.inOrder() {
			if anew {
				n.worked.Store(nil)
			}
			w, err := v.inShort(n)
			if err != nil || w.digest == "" || len(w.wanted) != benchModules {
				return fmt.Errorf("%+v %w", w, err)
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkLookAtOne is what one declare step reads when another node has moved:
// it does not depend on how many there are.
func BenchmarkLookAtOne(b *testing.B) {
	for _, nodes := range benchNodes {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			c := fleet(b, nodes)
			work(b, c, false)
			counter := int64(0)
			cpu := begin()
			for b.Loop() {
				counter++
				writeAll(b, c, func(tx *db.Tx) error {
					_, err := inventorystore.Heard(tx, link.Hello{Node: nodeID(1), Counter: counter}, time.Now())
					return err
				})
				if _, err := c.lookAt(context.Background(), nodeID(2)); err != nil {
					b.Fatal(err)
				}
			}
			cpu.per(b, 1, "look")
		})
	}
}

// BenchmarkNewBuild is one module's new build, declared everywhere and planned
// again everywhere.
func BenchmarkNewBuild(b *testing.B) {
	for _, nodes := range benchNodes {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			c := fleet(b, nodes)
			work(b, c, false)
			n := 0
			cpu := begin()
			for b.Loop() {
				n++
				writeAll(b, c, func(tx *db.Tx) error { return makeFiles(tx, "module-3", fmt.Sprint("new ", n), time.Now()) })
				declareNewest(b, c, "module-3", nodes)
				work(b, c, false)
			}
			cpu.per(b, nodes, "node")
		})
	}
}

// BenchmarkStatus is the whole status, of nodes that have all reported.
func BenchmarkStatus(b *testing.B) {
	for _, nodes := range benchNodes {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			c := fleet(b, nodes)
			writeAll(b, c, func(tx *db.Tx) error {
				for n := range nodes {
					r := report.Report{Node: nodeID(n), Sequence: 1, Outcome: report.OutcomeApplied}
					if _, err := inventorystore.SaveReport(tx, r, []byte("envelope"), time.Now()); err != nil {
						return err
					}
				}
				return nil
			})
			size := 0
			if _, err := c.answerStatus(context.Background(), api.Who{}, api.StatusIn{}); err != nil { // what is known from here on
				b.Fatal(err)
			}
			cpu := begin()
			for b.Loop() {
				out, err := c.answerStatus(context.Background(), api.Who{}, api.StatusIn{})
				if err != nil {
					b.Fatal(err)
				}
				size = len(out.Nodes)*benchModules + len(out.Modules)
			}
			if size < nodes*benchModules {
				b.Fatal(size)
			}
			cpu.per(b, nodes, "node")
		})
	}
}

// BenchmarkReports is reports that come one after another, each with a commit of
// its own, and reports that come side by side and share them.
func BenchmarkReports(b *testing.B) {
	text := []byte(strings.Repeat("x", 2048))
	save := func(node int, sequence int64) func(*db.Tx) error {
		return func(tx *db.Tx) error {
			stored, err := inventorystore.SaveReport(tx, report.Report{Node: nodeID(node), Sequence: sequence, Outcome: report.OutcomeApplied}, text, time.Now())
			if err == nil && !stored {
				err = fmt.Errorf("report %d of node %d was not stored", sequence, node)
			}
			return err
		}
	}
	const nodes, atOnce = 1000, 500
	b.Run("alone", func(b *testing.B) {
		c, i := fleet(b, nodes), 0
		cpu := begin()
		for b.Loop() {
			i++
			writeAll(b, c, save(i%nodes, int64(i)))
		}
		cpu.per(b, 1, "report")
	})
	b.Run("shared", func(b *testing.B) {
		c, i := fleet(b, nodes), 0
		cpu := begin()
		for b.Loop() {
			done := make(chan error)
			for range atOnce {
				i++
				one := save(i%nodes, int64(i))
				go func() { done <- c.small.write(context.Background(), one) }()
			}
			for range atOnce {
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/atOnce, "ns/report")
		cpu.per(b, atOnce, "report")
	})
}
