package builder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"noxmesh/builder/gateway"
	"noxmesh/builder/rootfs"
	"noxmesh/builder/shelf"
	"noxmesh/builder/supply"
	"noxmesh/delivery/build"
	"noxmesh/delivery/ignore"
	"noxmesh/delivery/recipe"
	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/internal/git"
	"noxmesh/manifest"
)

// Platform is what this builder builds for.
const Platform = runtime.GOOS + "/" + runtime.GOARCH

// order is one request on its way through the steps.
type order struct {
	request   build.Request
	git       Forge
	registry  Registry
	bench     *bench
	sandbox   runs   // nil where there is none
	noSandbox string // why
	lacks     string // which limits this machine does not have
	limits    Limits
	most      Most
	gateway   *gateway.Gateway // nil where the builder gives none, and where the module asks for none
	supply    *supply.Supply   // of what lock files name; nil where the builder fetches nothing
	outside   gateway.Config   // how it reaches what is not the operator's
	fresh     bool             // nothing that was fetched for an earlier build is used
	random    func(n int64) int64
	log       *logbook
	signs     signer
	given     time.Time // when the request was begun, by the wall clock

	manifest manifest.Source
	step     build.Step
	packed   packed
	recipes  map[string]*recipe.Recipe // by the artifact that is made as a container file says
	leaves   map[string]ignore.List    // likewise: what it does not see of its folder
	laid     laid
	depends  *supply.Session // what the tree's lock files name; nil where they name nothing, or nothing is fetched
	images   images
	shelf    *shelf.Shelf // of libraries
	root     rootfs.Root
	began    time.Time
	end      context.CancelCauseFunc
	timer    *time.Timer            // ends the build when its time is over
	now      atomic.Pointer[Limits] // limits, as the guard sees them
	said     int64                  // bytes that its commands have said
}

// made is a build that came to its end.
type made struct {
	manifest  manifest.Built
	where     build.Where
	tests     build.Tests
	published document.Digest

	provenance document.Digest // of the manifest that says what it was made of
}

// run makes what is asked, or says why not.
func (o *order) run(ctx context.Context) (*made, *ending) {
	ctx, o.end = context.WithCancelCause(ctx)
	defer o.end(nil)
	o.began = time.Now()
	most := min(time.Duration(o.request.Limit)*time.Second, o.limits.Longest)
	o.limits.Longest = most
	o.timer = time.AfterFunc(most, func() { o.end(tooLong(most)) })
	defer func() { o.timer.Stop() }()
	defer func() { o.depends.Close() }()
	limits := o.limits
	o.now.Store(&limits)
	group := errgroup.Group{}
	watch, unwatch := context.WithCancel(ctx)
	group.Go(func() error { return guard(watch, o.bench.dir, func() Limits { return *o.now.Load() }, o.end) })
	result, err := o.steps(ctx)
	unwatch()
	if watched := group.Wait(); err == nil {
		err = watched
	}
	if err != nil {
		if full := enoughFree(o.bench.dir, o.limits); full != nil && context.Cause(ctx) == nil {
			err = environment("%s", full) // whatever else it looks like
		}
		return nil, o.slowed(ctx, judge(ctx, o.step, err))
	}
	return result, nil
}

// slowed is the end of a build whose time ran out. Where most of it went into
// what its lock files name, no command of the module was slow.
func (o *order) slowed(ctx context.Context, e *ending) *ending {
	var l *limit
	waited := o.depends.Waited()
	if e.outcome != build.OutcomeFailed || !errors.As(context.Cause(ctx), &l) || !l.time || 2*waited < o.limits.Longest {
		return e
	}
	return environment("%s: %s; for %s of it something was fetched from outside", e.step, e.why, shortly(waited))
}

func tooLong(most time.Duration) error {
	return &limit{says: "time limit: the build takes longer than " + timeWords(most), time: true}
}

// narrow takes the limits that the module asks for from here on.
func (o *order) narrow() error {
	if o.manifest.Build == nil {
		return nil
	}
	if err := o.network(o.manifest.Build); err != nil {
		return err
	}
	limits, err := o.limits.asked(o.manifest.Build.Limits, o.most)
	if err != nil {
		return environment("%s", err)
	}
	if limits.Longest < o.limits.Longest {
		o.timer.Stop()
		o.timer = time.AfterFunc(limits.Longest-time.Since(o.began), func() { o.end(tooLong(limits.Longest)) })
	}
	o.limits = limits
	o.now.Store(&limits)
	if len(o.manifest.Build.Run)+len(o.manifest.Build.Test) > 0 {
		o.log.Note("%s", o.limits.says(o.lacks))
	}
	return nil
}

func (o *order) steps(ctx context.Context) (*made, error) {
	result := &made{}
	steps := []struct {
		name string
		step build.Step
		what string
		do   func(context.Context, *made) error
	}{
		{"clone", build.StepClone, o.request.Repository + " at " + o.request.Commit, o.clone},
		{"image", build.StepBuild, o.inWhat(), o.inside},
		{"lay out", build.StepBuild, o.against(), o.lay},
		{"build", build.StepBuild, "", o.build},
		{"pack", build.StepPack, "", o.pack},
		{"test", build.StepBuild, "", o.test},
		{"publish", build.StepPublish, o.request.Target, o.publish},
	}
	for _, s := range steps {
		if s.name == "lay out" && len(o.request.Closure) == 0 || s.name == "image" && (o.request.Environment == nil || !o.hasCommands()) {
			continue
		}
		o.step = s.step
		o.log.Step(s.name, s.what)
		if err := s.do(ctx, result); err != nil {
			return nil, err
		}
		o.log.Done(s.name)
	}
	return result, nil
}

// clone makes the tree: exactly what the request names, and checked to be so.
func (o *order) clone(ctx context.Context, _ *made) error {
	if err := o.acceptable(); err != nil {
		return err
	}
	r := o.request
	checked, err := o.git.Checkout(ctx, git.Order{URL: r.Repository, Commit: r.Commit, Ref: r.Ref, Folder: r.Folder}, o.bench.tree())
	if err != nil {
		return err
	}
	if checked.Tree != r.Tree {
		return failed(build.StepClone, "the tree at commit %s is %s, and the request names %s", r.Commit, checked.Tree, r.Tree)
	}
	for _, path := range checked.Submodules {
		o.log.Note("submodule %s is left out", path)
	}
	if err := o.readManifest(); err != nil {
		return err
	}
	if err := o.narrow(); err != nil {
		return err
	}
	if err := o.keepFiles(); err != nil {
		return err
	}
	if err := o.readRecipes(); err != nil {
		return err
	}
	if err := o.readLocks(); err != nil {
		return err
	}
	return o.bench.handOver()
}

// acceptable refuses what this builder cannot build. Another one may.
func (o *order) acceptable() error {
	if o.request.Platform != Platform {
		return environment("this builder builds for %s, the request is for %s", Platform, o.request.Platform)
	}
	if n := len(o.request.Closure); len(o.request.Laid) != n {
		return environment("the request names %d artifacts to build against, and not where they are: upgrade the controller", n)
	}
	if err := enoughFree(o.bench.dir, o.limits); err != nil {
		return environment("%s", err)
	}
	return nil
}

// readManifest reads module.json out of the tree, never through a link.
func (o *order) readManifest() error {
	root, err := os.OpenRoot(o.bench.tree())
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "open the tree")
	}
	defer root.Close()
	data, err := readRegular(root, manifest.Name, int64(manifest.Limits.Bytes))
	if err != nil {
		return fault.Add(err, "read the manifest")
	}
	o.manifest, err = manifest.DecodeSource(manifest.Name, data)
	if err != nil {
		return err
	}
	if o.manifest.Module != o.request.Module {
		return failed(build.StepClone, "%s names the module %q, and the request is for %q", manifest.Name, o.manifest.Module, o.request.Module)
	}
	return o.agreed()
}

// build runs the module's build commands, one after another.
func (o *order) build(ctx context.Context, _ *made) error {
	b := o.manifest.Build
	if b == nil || len(b.Run) == 0 {
		o.log.Note("no commands")
		return nil
	}
	return o.commands(ctx, b.Run)
}

// test runs the module's tests on what is packed already: what they change in
// the tree comes into no artifact. Tests that fail are a verdict, no failure.
func (o *order) test(ctx context.Context, result *made) error {
	result.tests = build.TestsNone
	b := o.manifest.Build
	if b == nil || len(b.Test) == 0 {
		o.log.Note("no tests")
		return nil
	}
	err := o.commands(ctx, b.Test)
	var e *exited
	switch {
	case errors.As(err, &e):
		result.tests = build.TestsFailed
		o.log.Note("tests failed: %s", e.short())
		return nil
	case err != nil:
		return err
	}
	result.tests = build.TestsPassed
	return nil
}

// commands runs each in a sandbox of its own over the same tree.
func (o *order) commands(ctx context.Context, all [][]string) error {
	if o.sandbox == nil {
		return environment("this builder has no sandbox to run commands in: %s", o.noSandbox)
	}
	for _, argv := range all {
		o.log.Command(argv)
		began, said := time.Now(), &lastBytes{w: heard{o}}
		code, err := o.sandbox.run(ctx, command{
			argv: argv, tree: o.bench.tree(), as: o.bench.as, laid: o.laid, root: o.root, limits: o.limits, most: o.limits.Longest, out: said, network: o.gateway, depends: o.depends,
		})
		o.noted(o.depends.Says())
		if wrong := o.depends.Ended(); wrong != nil {
			return wrong // whatever the command made of that
		}
		if err != nil {
			return err
		}
		if code != 0 {
			return &exited{argv: argv, code: code, last: said.lines(), lacks: o.depends.Lacking(), limits: o.limits}
		}
		o.log.Note("# %s", shortly(time.Since(began)))
	}
	return nil
}

// heard is what the commands say on its way into the log, as long as it is not too much.
type heard struct{ *order }

func (h heard) Write(p []byte) (int, error) {
	if h.said += int64(len(p)); h.said > h.limits.Log {
		h.end(&limit{says: "log limit: the build says more than " + sizeWords(h.limits.Log)})
		return len(p), nil
	}
	return h.log.Write(p)
}

// exited is a command that ended with another status than 0.
type exited struct {
	argv   []string
	code   int
	last   string
	at     string // the line that it stands in, of a container file
	lacks  string // what it asked for and no lock file names
	limits Limits
}

func (e *exited) short() string {
	words := strings.Join(e.argv, " ")
	switch {
	case e.code == 127:
		return fmt.Sprintf("%q is not on this builder, or is no program", e.argv[0])
	case e.code == 128+int(syscall.SIGXFSZ):
		return fmt.Sprintf("file limit: %q wrote a file larger than %s", words, sizeWords(e.limits.FileSize))
	case e.code == 128+int(syscall.SIGXCPU):
		return fmt.Sprintf("time limit: %q took more processor time than a build has", words)
	case e.code > 128:
		return fmt.Sprintf("%q was ended by signal %d", words, e.code-128)
	}
	return fmt.Sprintf("%q ended with status %d", words, e.code)
}

func (e *exited) Error() string {
	return strings.TrimSpace(e.at + e.short() + "\n" + e.last + e.perhaps() + e.lacking())
}

// perhaps is the limit that the last words of a command mostly come from, where
// nothing but the command has seen it.
func (e *exited) perhaps() string {
	number := func(n int64, what string) string { return strconv.FormatInt(n, 10) + " " + what }
	for _, x := range []struct{ words, limit string }{
		{"No space left on device", sizeWords(e.limits.Temporary) + " each for /tmp and the home folder"},
		{"Too many open files", number(e.limits.OpenFiles, "open files in one process")},
		{"Resource temporarily unavailable", number(e.limits.Processes, "processes and threads at one time")},
		{"Cannot fork", number(e.limits.Processes, "processes and threads at one time")},
		{"annot allocate memory", sizeWords(e.limits.Memory) + " of memory"},
	} {
		if strings.Contains(e.last, x.words) {
			return "\n(a limit of this builder may be why: " + x.limit + ")"
		}
	}
	return ""
}

// lacking is what the command asked for in vain, for people.
func (e *exited) lacking() string {
	if e.lacks == "" {
		return ""
	}
	return "\n(it asked for what no lock file names:\n" + e.lacks + ")"
}
