package sim

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"noxmesh/builder"
	"noxmesh/link"
)

// maker is one builder's machine: its folder, and the program that runs or does not.
type maker struct {
	w    *world
	name string
	id   string
	key  link.Key
	dir  string
	run  *program
}

// nature is what a commit does to whoever builds it.
type nature int

const (
	good   nature = iota
	broken        // it does not build
	unfit         // its tests fail
	poison        // it kills its builder
	hangs         // it never ends
)

func (n nature) String() string {
	return [...]string{"good", "broken", "unfit", "poison", "hangs"}[n]
}

// hire makes a builder that has joined the mesh.
func (w *world) hire(name string) *maker {
	b := &maker{w: w, name: name, id: name + "builder", key: keyOf(name), dir: filepath.Join(w.dir, name)}
	w.must(os.MkdirAll(filepath.Join(b.dir, "answers"), 0o700))
	b.save("identity.json", map[string]any{"format": 1, "sign": hex.EncodeToString(b.key.Seed()), "nats": w.fixed.nats})
	b.save("joined.json", map[string]any{
		"format": 1, "mesh": w.who.Mesh, "id": b.id, "name": name, "root": w.who.Root, "ca": "", "broker": "", "jwt": "",
		"registry": "", "registry_secret": "", "keys": w.who.Keys,
	})
	w.makers = append(w.makers, b)
	return b
}

func (b *maker) save(name string, v any) {
	data, err := json.Marshal(v)
	b.w.must(err)
	b.w.must(os.WriteFile(filepath.Join(b.dir, name), data, 0o600))
}

// start runs the builder.
func (b *maker) start() {
	p := b.w.begin(b.name)
	b.run = p
	cfg := builder.Config{State: b.dir, Workshop: filepath.Join(b.dir, "workshop"), Version: "sim", Log: b.w.logger(p)}
	rim := builder.Rim{
		Link: line{p, nil}, Forge: checkout{p}, Registry: pressOf(p), Random: p.random,
		Commands: func(ctx context.Context, argv []string, tree string) (int, error) {
			return b.commands(ctx, p, argv, tree)
		},
	}
	b.w.note(b.name, "starts")
	p.goes(func(ctx context.Context) {
		if err := builder.On(ctx, cfg, rim); err != nil && !p.dead.Load() {
			p.why = err
		}
	})
}

// stop kills the builder, and waits until nothing of it runs.
func (b *maker) stop() {
	if b.run != nil {
		b.run.die()
		b.run.runs.Wait()
		b.run = nil
	}
}

// commands is what a module's commands do: they take their time, and end as the
// commit wants it.
func (b *maker) commands(ctx context.Context, p *program, argv []string, tree string) (int, error) {
	readme, err := os.ReadFile(filepath.Join(tree, "README"))
	if err != nil {
		return 0, err
	}
	var edition int
	if _, err := fmt.Fscanf(bytes.NewReader(readme), "commit %d", &edition); err != nil {
		return 0, err
	}
	is := b.w.natures[edition]
	select {
	case <-time.After(time.Second + time.Duration(p.random(int64(8*time.Second)))):
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	if err := p.turn(ctx, "has run "+argv[0]); err != nil {
		return 0, err
	}
	switch {
	case is == hangs:
		<-ctx.Done()
		return 0, context.Cause(ctx)
	case is == poison:
		b.w.note(b.name, "is killed by what it builds")
		p.die()
		return 0, errDead
	case is == broken && argv[0] == "make", is == unfit && argv[0] == "check":
		return 1, nil
	case argv[0] == "make":
		return 0, linkProgram(tree)
	}
	return 0, nil
}
