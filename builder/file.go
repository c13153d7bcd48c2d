package builder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"noxmesh/builder/layer"
	"noxmesh/builder/rootfs"
	"noxmesh/builder/stage"
	"noxmesh/delivery/ignore"
	"noxmesh/delivery/imports"
	"noxmesh/delivery/recipe"
	"noxmesh/document"
	"noxmesh/image"
	"noxmesh/internal/disk"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci/remote"
)

// readRecipes reads the container files of the module's images, as the repository
// has them: a command that ran later has no part in what is made of them.
func (o *order) readRecipes() error {
	o.recipes, o.leaves = map[string]*recipe.Recipe{}, map[string]ignore.List{}
	if o.manifest.Build == nil {
		return nil
	}
	root, err := os.OpenRoot(o.bench.tree())
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "open the tree")
	}
	defer root.Close()
	for _, name := range slices.Sorted(maps.Keys(o.manifest.Build.Artifacts)) {
		made := o.manifest.Build.Artifacts[name]
		if made.File == "" {
			continue
		}
		if what, want := recipe.Called(made.File); what != "" {
			return fault.New(fault.Invalid, "artifact %q: %q %s", name, made.File, what).With("%s", want)
		}
		text, err := readRegular(root, made.File, imports.FileLimit)
		if err != nil {
			return fault.Add(err, "artifact %q: file", name)
		}
		if o.leaves[name], err = ignored(root, ignore.Names(made.File, cmp.Or(made.Path, "."))); err != nil {
			return fault.Add(err, "artifact %q", name)
		}
		if o.recipes[name], err = recipe.Read(made.File, text, o.request.Platform, o.refuses); err != nil {
			return fault.Add(err, "artifact %q", name)
		}
	}
	return nil
}

// ignored is what COPY does not see of a folder, as the first of these files says that is there.
func ignored(root *os.Root, names []string) (l ignore.List, err error) {
	for _, name := range names {
		if _, err := root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		text, err := readRegular(root, name, ignore.Limit)
		if err == nil {
			l, err = ignore.Read(name, text)
		}
		return l, err
	}
	return l, nil
}

// refuses is why a container file may not stand on an image: its bytes must be named
// by what the build is made of.
func (o *order) refuses(named string) string {
	of, _ := image.Parse(named)
	if of.IsOwn() {
		if _, err := o.laidImage(of); err != nil {
			return said(err)
		}
	}
	in, _ := image.Parse(o.manifest.Build.In)
	if why := recipe.Stands(named); why != "" || of.IsOwn() || of.Digest != "" || of == in {
		return why
	}
	if _, said := o.request.Base(of); !said {
		return "the request does not say which image that is: upgrade the controller"
	}
	return ""
}

// baking is a container file that is carried out.
type baking struct {
	*order
	name   string
	recipe *recipe.Recipe
	dir    string // what COPY takes from
	leaves ignore.List
	stages map[int]*stage.Stage
	states map[int]*recipe.State
	bases  map[int]remote.Image // what each stands on at last
}

// leftOut is what COPY does not see: what the repository says, or where it says
// nothing what the folder says itself that was made to copy from.
func (o *order) leftOut(name string, dir *os.Root) (ignore.List, error) {
	if l := o.leaves[name]; !l.Empty() {
		return l, nil
	}
	return ignored(dir, ignore.Within("."))
}

// packFile makes an image as its container file says.
func (o *order) packFile(ctx context.Context, name string, dir *os.Root) error {
	leaves, err := o.leftOut(name, dir)
	if err != nil {
		return err
	}
	if err := noPointersBut(dir, leaves); err != nil {
		return err
	}
	b := &baking{order: o, name: name, recipe: o.recipes[name], dir: dir.Name(), leaves: leaves, stages: map[int]*stage.Stage{}, states: map[int]*recipe.State{}, bases: map[int]remote.Image{}}
	for _, at := range b.recipe.Needed() {
		if err := b.stage(ctx, at); err != nil {
			return err
		}
	}
	if err := b.keep(ctx, len(b.recipe.Stages)-1); err != nil {
		return err
	}
	if o.root.Dir == "" {
		return nil
	}
	return o.inside(ctx, nil) // tests run in it, and it may have made room for what a stage stands on
}

// stage makes one stage.
func (b *baking) stage(ctx context.Context, at int) error {
	said := b.recipe.Stages[at]
	var make func() (*stage.Stage, error)
	var err error
	if said.Image == "" {
		below := b.stages[said.Below]
		b.bases[at], b.states[at] = b.bases[said.Below], b.states[said.Below].On()
		make = func() (*stage.Stage, error) { return below.On(ctx, b.place(at)) }
	} else if make, err = b.begin(ctx, at); err != nil {
		return err
	}
	err = effect.Do("builder.stage.begin", func() (err error) {
		b.stages[at], err = make()
		return err
	})
	if err != nil {
		return fault.Add(disk.Say(err, b.bench.dir), "%s:%d: begin the stage %q", b.recipe.Path, said.Line, b.place(at))
	}
	return b.states[at].Carry(at, func(a recipe.Act) error { return b.act(ctx, at, a) })
}

func (b *baking) place(at int) string {
	return filepath.Join(b.bench.dir, "stage-"+b.name+"-"+strconv.Itoa(at))
}

// begin is how a stage is made of the image that it stands on, or of nothing.
func (b *baking) begin(ctx context.Context, at int) (make func() (*stage.Stage, error), err error) {
	named := b.recipe.Stages[at].Image
	var root rootfs.Root
	if named != recipe.Scratch {
		if root, err = b.rootOf(ctx, named); err == nil {
			b.bases[at], err = b.base(ctx, named)
		}
		if err != nil {
			return nil, environment("%s", said(fault.Add(disk.Say(err, b.bench.dir), "artifact %q: stand on the image %s", b.name, named)))
		}
	}
	if b.states[at], err = b.recipe.Begin(b.bases[at].Config); err != nil {
		return nil, err
	}
	var owner *stage.Owner
	if as := b.bench.as; as != nil {
		owner = &stage.Owner{UID: int(as.Uid), GID: int(as.Gid)}
	}
	return func() (*stage.Stage, error) { return stage.Begin(ctx, b.place(at), root.Dir, owner) }, nil
}

// rootOf is the root file system of an image that a stage stands on.
func (o *order) rootOf(ctx context.Context, named string) (root rootfs.Root, err error) {
	of, _ := image.Parse(named)
	if o.images == nil {
		return root, fault.New(fault.Unavailable, "this builder has no way to images")
	}
	source, made, err := o.sourceOf(of)
	if err != nil {
		return root, err
	}
	base, _ := o.request.Base(of)
	digest := cmp.Or(made, document.Digest(of.Digest), base, o.request.In())
	err = o.patiently(ctx, func() (err error) {
		root, err = o.images.Root(ctx, rootfs.Wanted{Of: of, Digest: digest, Platform: o.request.Platform, From: source})
		return err
	})
	return root, err
}

// act does one thing to a stage's files.
func (b *baking) act(ctx context.Context, at int, a recipe.Act) error {
	s := b.stages[at]
	if a.Command {
		return b.command(ctx, s, a)
	}
	b.log.Note("%s:%d: %s", b.recipe.Path, a.Line, a)
	err := effect.Do("builder.stage.fill", func() error {
		if len(a.Words) == 0 {
			return s.Folder(a.To)
		}
		t := stage.Taking{Root: b.dir, Leaves: b.leaves, Words: a.Words, To: a.To, Into: a.Into, Unpack: a.Unpack, Most: b.limits.Tree}
		if a.From >= 0 {
			t.Root, t.Leaves = b.stages[a.From].Dir, ignore.List{}
		}
		if a.Whose != "" {
			var err error
			if t.Whose, err = s.Named(a.Whose); err != nil {
				return err
			}
		}
		return s.Copy(ctx, t)
	})
	return disk.Say(err, b.bench.dir)
}

// command runs a command of a container file: within the same walls as every other,
// but that what is below it is the stage, and that it may write there.
func (b *baking) command(ctx context.Context, s *stage.Stage, a recipe.Act) error {
	if b.sandbox == nil {
		return environment("this builder has no sandbox to run commands in: %s", b.noSandbox)
	}
	for _, name := range []string{"proc", "dev"} {
		if err := s.Place(name); err != nil {
			return err
		}
	}
	if err := s.Folder(a.To); err != nil {
		return err
	}
	if shell, err := rootfs.Within(s.Dir, "/bin/sh"); err != nil {
		return err
	} else if _, err := os.Lstat(shell); err != nil {
		return fault.New(fault.Invalid, "the stage has no /bin/sh, which commands are started with")
	}
	b.log.Command(a.Words)
	last := &lastBytes{w: heard{b.order}}
	code, err := b.sandbox.run(ctx, command{
		argv: a.Words, as: b.bench.as, limits: b.limits, most: b.limits.Longest, out: last, network: b.gateway,
		stage: s.Dir, at: a.To, env: a.Env,
	})
	if err == nil && code != 0 {
		err = &exited{argv: a.Words, code: code, last: last.lines(), at: fmt.Sprintf("%s:%d: ", b.recipe.Path, a.Line), limits: b.limits}
	}
	return err
}

// keep keeps the image of a stage to be published.
func (b *baking) keep(ctx context.Context, at int) error {
	s, base := b.stages[at], b.bases[at]
	instead, err := b.states[at].Says()
	if err != nil {
		return err
	}
	changes, err := s.Differs(ctx)
	if err != nil {
		return disk.Say(err, b.bench.dir)
	}
	layers := layersOf(base)
	for _, l := range layers {
		b.carry(blob{b.name + ".base", l.Media, l.Digest, l.Size, b.basePath(l.Digest)})
	}
	if len(changes) > 0 || len(layers) == 0 {
		root, err := os.OpenRoot(s.Dir)
		if err != nil {
			return fault.Wrap(fault.Unavailable, err, "open %q", s.Dir)
		}
		defer root.Close()
		top, path, err := b.layer(b.name, func(out *os.File) (layer.Layer, error) { return layer.Over(ctx, root, changes, out) })
		if err != nil {
			return err
		}
		layers = append(layers, top)
		b.carry(blob{b.name + ".tar.gz", layer.Media, top.Digest, top.Size, path})
	}
	return b.compose(b.name, layer.Says{Platform: b.request.Platform, Base: base.Config, Instead: instead}, layers)
}
