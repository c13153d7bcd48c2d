//go:build meshcrash

package line

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// elsewhere are the effects that no program comes to in the stories of the line,
// and why. There are two reasons and no third: a test of that room kills it, or no
// program calls it.
func elsewhere() map[string]string {
	const (
		migrates = "there is no older schema yet: internal/db kills it in TestAMoveOfTheSchemaMayBeTheLast"
		applies  = "only mesh-host apply keeps a plan: TestKilledAnywhere of host kills it"
		drifts   = "no story of the line lets a thing drift that is as the record has it: TestKilledAnywhere of host kills it"
		drafts   = "only mesh module init writes one: TestAMatterOfOneFileMayBeTheLast of cli kills it"
		unpacks  = "only a builder unpacks a whole archive, and no story of the line has a library: TestABuilderIsKilledAnywhere of builder kills it"
		images   = "no story of the line is built in an image: TestABuilderIsKilledAnywhere of builder kills it"
		packs    = "no story of the line makes a package or an image: TestABuilderIsKilledAnywhere of builder kills it"
		collects = "no story of the line is as old as what is collected: TestEveryEffectOfACollectionMayBeTheLast of internal/oci/registry kills it"
		abroad   = "no story of the line is told with another's registry: TestEveryEffectOfAPushElsewhereMayBeTheLast of internal/oci/registry kills it"
		drops    = "no story of the line collects from another's registry: TestEveryEffectOfACollectionElsewhereMayBeTheLast of internal/oci/registry kills it"
		breaks   = "in no story does a push break off by itself: TestEveryEffectOfAPushThatBreaksOffMayBeTheLast of internal/oci/registry kills it"
		takes    = "no story of the line takes anything from outside: TestEveryEffectOfADepotMayBeTheLast of builder/depot kills it"
		machines = "no host of the line is on a machine: TestUsersAndGroupsOnAMachine of host kills it on one that has booted"
		services = "no host of the line is on a machine: TestServicesOnAMachine of host kills it on one that has booted"
		installs = "no host of the line is on a machine: TestPackagesOnAMachine of host kills it on one that has booted"
		rpms     = "no host of the line is on a machine: TestDnfOnAMachine of host kills it on one that has booted"
		kernels  = "no host of the line is on a machine: TestSysctlsOnAMachine of host kills it on one that has booted"
		hangs    = "no host of the line is on a machine: TestMountsOnAMachine of host kills it on one that has booted"
		upgrades = "no host of the line is a package: TestTheHostIsUpgradedOnAMachine of host kills it on a machine that has booted"
		swaps    = "no story of the line swaps an archive: TestKilledAnywhere of host kills it"
		contains = "no host of the line is on a machine: TestContainersOnAMachine of host kills it on one that has booted"
		docks    = "no host of the line is on a machine: TestContainersOfDockerOnAMachine of host kills it on one that has booted"
		powers   = "no host of the line is on a machine: TestPowerIsCutOnAMachine of host cuts the power of one that has booted at it"
		lays     = "no story of the line has a library: TestABuilderIsKilledAnywhere of builder kills it"
	)
	return map[string]string{
		"db.backup.copy": migrates, "db.backup.keep": migrates,
		"keep.plan.save":     applies,
		"keep.changing.save": drifts, "keep.changing.drop": drifts,
		"cli.manifest.write":     drafts,
		"archive.directory.make": unpacks, "archive.file.write": unpacks, "archive.link.make": unpacks,
		"builder.images.pull": images, "builder.images.unpack": images, "builder.images.clear": images,
		"builder.package.write": packs, "builder.layer.write": packs, "builder.stage.begin": packs, "builder.stage.fill": packs, "builder.image.keep": packs, "builder.base.pull": packs, "builder.image.push": packs,
		"builder.depot.fill": takes, "builder.depot.keep": takes, "builder.depot.drop": takes,
		"builder.shelf.begin": lays, "builder.shelf.keep": lays, "builder.shelf.drop": lays,
		"registry.manifest.collect": collects, "registry.layer.collect": collects, "registry.repository.settle": collects, "registry.blob.collect": collects,
		"registry.upload.drop": breaks,
		"resource.swap.make":   swaps, "resource.swap.link": swaps, "resource.swap.commit": swaps, "resource.swap.clear": swaps,
		"resource.swap.lay": swaps, "resource.swap.fill": swaps, "resource.swap.open": swaps,
		"resource.machine.seal": machines,
		"resource.group.add":    machines, "resource.group.remove": machines, "resource.group.mend": machines, "resource.user.complete": machines,
		"resource.user.add": machines, "resource.user.change": machines, "resource.user.join": machines,
		"packages.package.install": installs, "packages.package.remove": installs, "packages.lists.update": installs, "packages.dpkg.finish": installs,
		"packages.rpm.install": rpms, "packages.rpm.repeat": rpms, "packages.rpm.drop": rpms, "packages.rpm.remove": rpms, "packages.repositories.update": rpms, "packages.conffile.replace": rpms,
		"resource.mount.make": hangs, "resource.mount.change": hangs, "resource.mount.remove": hangs, "resource.mounts.reload": hangs,
		"resource.sysctl.set": kernels, "resource.sysctl.restore": kernels,
		"version.program.keep": upgrades, "version.program.confirm": upgrades, "version.program.drop": upgrades, "version.failures.forget": upgrades,
		"resource.host.restart": upgrades,
		"podman.image.pull":     contains, "podman.image.load": contains, "podman.image.remove": contains, "podman.container.remove": contains,
		"docker.image.pull": docks, "docker.image.load": docks, "docker.image.remove": docks, "docker.container.remove": docks,
		"resource.image.seal":       powers,
		"resource.container.forget": contains,
		"resource.units.reload":     services, "resource.units.forget": services,
		"resource.unit.enable": services, "resource.unit.disable": services, "resource.unit.reset": services, "resource.unit.restart": services,
		"resource.unit.start": services, "resource.unit.stop": services, "resource.unit.release": services,
		"resource.user.part": machines, "resource.user.loosen": machines, "resource.user.remove": machines,
		"elsewhere.blob.push": abroad, "elsewhere.manifest.push": abroad, "elsewhere.referrers.tag": abroad,
		"elsewhere.manifest.delete": drops, "elsewhere.blob.delete": drops,
		"builder.library.gather": lays, "builder.input.fetch": lays, "builder.laid.make": lays, "builder.laid.settle": lays, "builder.wiring.write": lays,
	}
}

// granted are the effects that the stories come to only where the machine lets
// them, and what it must let them.
func granted() map[string]string {
	const (
		groups = "control groups for a builder"
		users  = "a builder that is root"
	)
	return map[string]string{"builder.group.make": groups, "builder.group.drop": groups, "builder.user.take": users}
}

// That only a builder unpacks a whole archive is looked up, and not believed.
func TestOnlyABuilderUnpacksAWholeArchive(t *testing.T) {
	t.Parallel()
	everyFile(t, func(path string, f *ast.File) {
		ast.Inspect(f, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok || s.Sel.Name != "Unpack" {
				return true
			}
			if room, ok := s.X.(*ast.Ident); ok && room.Name == "archive" && filepath.Base(filepath.Dir(path)) != "builder" {
				t.Errorf("%s calls archive.Unpack: its effects are to be killed", path)
			}
			return true
		})
	})
}

// everyName fails where an effect of the tree is neither reached nor excepted,
// and where one is excepted that need not be.
func everyName(t *testing.T, reached map[string]int) {
	t.Helper()
	all := effects(t)
	if len(all) < 60 {
		t.Fatalf("only %d effects in the tree: the walk does not find them", len(all))
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		_, excepted := elsewhere()[name]
		switch {
		case reached[name] == 0 && granted()[name] != "":
			t.Logf("the effect %q is not killed: that takes %s", name, granted()[name])
		case reached[name] == 0 && !excepted:
			t.Errorf("%s: the effect %q is never killed", all[name], name)
		case reached[name] > 0 && excepted:
			t.Errorf("the effect %q is reached, and need not be excepted", name)
		}
	}
	for _, some := range []map[string]string{elsewhere(), granted()} {
		for name, why := range some {
			if all[name] == "" {
				t.Errorf("there is no effect %q that is excepted because %s", name, why)
			}
		}
	}
}

// effects is every name in the tree, with where it stands.
func effects(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	everyFile(t, func(path string, f *ast.File) {
		ast.Inspect(f, func(n ast.Node) bool {
			if name := effectOf(n); name != "" {
				found[name] = path
			}
			return true
		})
	})
	return found
}

// everyFile goes through the tree, without its tests and the hook itself.
func everyFile(t *testing.T, do func(path string, f *ast.File)) {
	t.Helper()
	root := filepath.Join("..", "..")
	must(t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && path != root && (strings.HasPrefix(e.Name(), ".") || e.Name() == "testdata" || e.Name() == "bin") {
			return filepath.SkipDir
		}
		if e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || filepath.Base(filepath.Dir(path)) == "effect" {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		do(path, f)
		return nil
	}))
}

// effectOf is the name in a call of effect.Do.
func effectOf(n ast.Node) string {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) != 2 {
		return ""
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || selector.Sel.Name != "Do" {
		return ""
	}
	room, ok := selector.X.(*ast.Ident)
	if !ok || room.Name != "effect" {
		return ""
	}
	literal, ok := call.Args[0].(*ast.BasicLit)
	if !ok {
		return ""
	}
	name, err := strconv.Unquote(literal.Value)
	if err != nil {
		return ""
	}
	return name
}
