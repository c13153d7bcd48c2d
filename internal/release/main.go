package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"

	"noxmesh/builder/deb"
	"noxmesh/declaration"
	"noxmesh/internal/fault"
)

//go:embed debian
var debian embed.FS

const (
	unitDir = "usr/lib/systemd/system"
	program = "mesh-host"
	home    = "usr/lib/" + declaration.HostPackage
)

func main() {
	from := flag.String("program", "bin/mesh-host", "the host, as it was built with this version")
	version := flag.String("version", "", "the version, as Debian takes it")
	platform := flag.String("platform", "linux/amd64", "what it was built for")
	to := flag.String("to", "bin", "the folder that the package is written to")
	flag.Parse()
	name, err := release(context.Background(), *from, *version, *platform, *to)
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		if hint := fault.HintOf(err); hint != "" {
			fmt.Fprintln(os.Stderr, "  "+hint)
		}
		os.Exit(1)
	}
	fmt.Println(name)
}

// release writes the package of a program, and is where.
func release(ctx context.Context, from, version, platform, to string) (_ string, err error) {
	// A version is the name of a folder and a word of a line: no epoch, nothing else.
	if !regexp.MustCompile(`^[0-9][A-Za-z0-9.+~-]*$`).MatchString(version) {
		return "", fault.New(fault.Invalid, "%q is not a version of the host", version).With("it begins with a digit, and has letters, digits and .+~- after that, as in 1.4.2")
	}
	p := deb.Package{
		Name: declaration.HostPackage, Version: version, Architecture: deb.Architecture(platform), Depends: []string{"systemd"},
		Module: program, Summary: "makes this machine what its declaration says, reads it back, and reports",
		Scripts: map[string]string{},
	}
	for _, name := range []string{"postinst", "prerm", "postrm"} {
		text, err := debian.ReadFile(path.Join("debian", name))
		if err != nil {
			return "", err
		}
		p.Scripts[name] = string(text)
	}
	dir, err := os.MkdirTemp("", "release-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	tree := filepath.Join(dir, "tree")
	if err := lay(tree, from, version); err != nil {
		return "", err
	}
	out := filepath.Join(to, p.FileName())
	return out, write(ctx, p, tree, filepath.Join(dir, "data"), out)
}

// lay makes the folder that stands for the root of the machine.
func lay(tree, from, version string) error {
	body, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	files := map[string][]byte{path.Join(home, "versions", version, program): body}
	for name, to := range map[string]string{
		"hook": home, "nox-mesh-host.service": unitDir, "nox-mesh-host-overdue.service": unitDir,
	} {
		if files[path.Join(to, name)], err = debian.ReadFile(path.Join("debian", name)); err != nil {
			return err
		}
	}
	for name, body := range files {
		mode := fs.FileMode(0o755)
		if path.Dir(name) == unitDir {
			mode = 0o644
		}
		name = filepath.Join(tree, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, body, mode)); err != nil {
			return err
		}
	}
	return errors.Join(
		os.Symlink("versions/"+version, filepath.Join(tree, home, "installed")),
		os.MkdirAll(filepath.Join(tree, "usr/bin"), 0o755),
		os.Symlink("../lib/"+declaration.HostPackage+"/runs/"+program, filepath.Join(tree, "usr/bin", program)),
	)
}

// write packs the folder. What was there under that name is replaced whole.
func write(ctx context.Context, p deb.Package, tree, scratch, to string) (err error) {
	root, err := os.OpenRoot(tree)
	if err != nil {
		return err
	}
	defer root.Close()
	data, err := os.Create(scratch)
	if err != nil {
		return err
	}
	defer data.Close()
	out, err := os.Create(to + ".new")
	if err != nil {
		return err
	}
	_, err = p.Write(ctx, root, data, out)
	if err = errors.Join(err, out.Close()); err != nil {
		return errors.Join(err, os.Remove(to+".new"))
	}
	return os.Rename(to+".new", to)
}
