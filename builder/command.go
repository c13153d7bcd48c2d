package builder

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"noxmesh/builder/supply"
	"noxmesh/identity"
	"noxmesh/internal/fault"
	"noxmesh/manifest"
)

// DefaultState is where a builder that was told nothing keeps its state.
const DefaultState = "/var/lib/mesh-builder"

// How a command ends.
const (
	exitAnswered = 0
	exitCouldNot = 1
	exitUsage    = 2
)

const usage = `mesh-builder takes build requests of a mesh and makes them, one at a time.

Usage:
  mesh-builder join TOKEN [flags]    let this machine into a mesh as a builder, once
  mesh-builder run [flags]           take requests until it is stopped
  mesh-builder status [flags]        who it is, whether it has a sandbox, which answers wait
  mesh-builder version

Flags:
  --state DIR         its keys and the answers that wait for a receipt (` + DefaultState + `)
  --workshop DIR      where builds are made; emptied at every start (beside the state)
  --plain-host HOST   also read repositories from this host over http; may be repeated
  --file-folder DIR   also read repositories from this folder; may be repeated
  --ssh-key FILE      the private key that repositories over ssh are read with
  --known-hosts FILE  the host keys of forges over ssh (git/known_hosts in the state)
  --memory SIZE       of one build whose module asks for nothing else (4GiB)
  --disk SIZE         likewise (16GiB)
  --processes N       likewise, threads included (4096)
  --most-memory SIZE  the most that a module may ask for (three quarters of the machine's)
  --most-disk SIZE    likewise (four times --disk)
  --most-processes N  likewise (four times --processes)
  --users FIRST-LAST  as root: the users that builds run as, one each (65520-65533)
  --dependencies=false
                      fetch nothing of what the lock files of a module name; of
                      one kind nothing, with an empty URL for it below
  --go-proxy URL      where Go modules are fetched from (https://proxy.golang.org)
  --npm-registry URL  where npm packages are (https://registry.npmjs.org)
  --pypi URL          where Python projects are (https://pypi.org/simple)
  --crates URL        where crates are (https://static.crates.io/crates)
  --network           let modules that ask for it (build.network) reach public
                      addresses, by a proxy that names each host in the log

Commands of a module run in a sandbox (bubblewrap), without --network with none.
Where there is no sandbox, modules without commands are built and others are
refused with why.

Examples:
  mesh builder add b1                          (where the mesh command is: prints a token)
  mesh-builder join mesh-join-1.eyJjYSI6…
  mesh-builder run
  mesh-builder status --state /srv/builder

Exit status: 0 done · 1 it could not be done · 2 the command line is wrong
`

// words collects a flag that may be repeated.
type words []string

func (w *words) String() string     { return strings.Join(*w, ",") }
func (w *words) Set(s string) error { *w = append(*w, s); return nil }

// size is a flag like 512MiB.
type size int64

func (v *size) String() string { return sizeWords(int64(*v)) }

func (v *size) Set(s string) error {
	n := (manifest.BuildLimits{Memory: s}).MemoryBytes()
	if n < 16<<20 {
		return fault.New(fault.Invalid, "%q is no size, want a number and MiB or GiB from 16MiB up, as 4GiB", s)
	}
	*v = size(n)
	return nil
}

// Main runs one command line and gives its exit status. What was asked for goes
// to out, all else to errs.
func Main(ctx context.Context, args []string, version string, out, errs io.Writer) int {
	if len(args) > 0 && args[0] == listenInside {
		complain(errs, goInside(args[1:]))
		return exitCouldNot
	}
	c := Config{Version: version, Log: slog.New(slog.NewTextHandler(errs, nil))}
	verb, rest, err := parse(args, &c)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(out, usage)
		return exitAnswered
	case err != nil:
		complain(errs, err)
		return exitUsage
	}
	if err := perform(ctx, verb, rest, c, out); err != nil {
		complain(errs, err)
		return exitCouldNot
	}
	return exitAnswered
}

// parse takes flags before and after the words.
func parse(args []string, c *Config) (verb string, rest []string, err error) {
	flags := flag.NewFlagSet("mesh-builder", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&c.State, "state", DefaultState, "")
	flags.StringVar(&c.Workshop, "workshop", "", "")
	flags.Var((*words)(&c.PlainHosts), "plain-host", "")
	flags.Var((*words)(&c.FileFolders), "file-folder", "")
	flags.StringVar(&c.SSHKey, "ssh-key", "", "")
	flags.StringVar(&c.KnownHosts, "known-hosts", "", "")
	flags.Var((*size)(&c.Limits.Memory), "memory", "")
	flags.Var((*size)(&c.Limits.Tree), "disk", "")
	flags.Int64Var(&c.Limits.Processes, "processes", 0, "")
	flags.Var((*size)(&c.Most.Memory), "most-memory", "")
	flags.Var((*size)(&c.Most.Tree), "most-disk", "")
	flags.Int64Var(&c.Most.Processes, "most-processes", 0, "")
	flags.Var(&c.Users, "users", "")
	flags.BoolVar(&c.Network, "network", false, "")
	c.Dependencies = supply.Public()
	depends := flags.Bool("dependencies", true, "")
	flags.StringVar(&c.Dependencies.Go, "go-proxy", c.Dependencies.Go, "")
	flags.StringVar(&c.Dependencies.Npm, "npm-registry", c.Dependencies.Npm, "")
	flags.StringVar(&c.Dependencies.Python, "pypi", c.Dependencies.Python, "")
	flags.StringVar(&c.Dependencies.Cargo, "crates", c.Dependencies.Cargo, "")
	for {
		if err := flags.Parse(args); err != nil {
			return "", nil, err
		}
		if args = flags.Args(); len(args) == 0 {
			break
		}
		rest, args = append(rest, args[0]), args[1:]
	}
	if !*depends {
		c.Dependencies = supply.Upstreams{}
	}
	if len(rest) == 0 || rest[0] == "help" {
		return "", nil, flag.ErrHelp
	}
	verb, rest = rest[0], rest[1:]
	n, ok := map[string]int{"join": 1, "run": 0, "status": 0, "version": 0}[verb]
	switch {
	case !ok:
		return "", nil, fault.New(fault.Invalid, "there is no command %q", verb).With("mesh-builder --help lists them")
	case len(rest) != n:
		return "", nil, fault.New(fault.Invalid, "%q takes %d words after it, here are %d", verb, n, len(rest)).With("mesh-builder --help")
	}
	return verb, rest, nil
}

func perform(ctx context.Context, verb string, rest []string, c Config, out io.Writer) error {
	switch verb {
	case "join":
		token, err := identity.ParseToken(rest[0])
		if err != nil {
			return err
		}
		if err := Join(ctx, c, token); err != nil {
			return err
		}
		return Status(c, out)
	case "run":
		return Run(ctx, c)
	case "status":
		return Status(c, out)
	case "version":
		_, err := fmt.Fprintln(out, "mesh-builder", c.Version, Platform)
		return err
	}
	return fault.New(fault.Broken, "no command %q", verb)
}

// complain prints an error as people read it.
func complain(w io.Writer, err error) {
	fmt.Fprintf(w, "mesh-builder: %s\n", err)
	if hint := fault.HintOf(err); hint != "" {
		fmt.Fprintf(w, "mesh-builder: hint: %s\n", hint)
	}
}
