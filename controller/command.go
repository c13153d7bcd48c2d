package controller

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"

	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/internal/term"
)

const usage = `mesh-controller holds what source exists and what has been built from it, and builds the difference.

Usage:
  mesh-controller run [flags]       run until it is told to stop
  mesh-controller recover [flags]   take a record over that is older than what nodes have accepted, or another's
  mesh-controller version

Examples:
  mesh-controller run --name mesh.example.org
  mesh-controller run --name 10.0.0.5 --dir /srv/mesh --record postgres:///mesh

The first start makes the mesh's keys in the data folder. Take root.key away from there to a safe place: whoever
has it can name new declare keys, and the controller never reads it again.

Exit status: 0 it ended as it was told to, 1 it could not run, 2 usage.

Flags:
`

// Command runs the program with these arguments and returns its exit status.
func Command(ctx context.Context, version string, args []string, stdout, stderr io.Writer) int {
	cfg := Default()
	cfg.Version = version
	flags := flag.NewFlagSet("mesh-controller", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	level := slog.LevelInfo
	bind(flags, &cfg)
	flags.TextVar(&level, "log", level, "what to log: debug, info, warn, error")
	verb := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		verb, args = args[0], args[1:]
	}
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) || verb == "help" {
		fmt.Fprint(stdout, usage)
		flags.SetOutput(stdout)
		flags.PrintDefaults()
		return term.Answered
	}
	cfg.Log = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
	switch {
	case err != nil:
		err = fault.Wrap(fault.Invalid, err, "mesh-controller %s", verb).With("mesh-controller --help lists the flags")
	case flags.NArg() > 0:
		err = fault.New(fault.Invalid, "mesh-controller %s takes no argument %q", verb, flags.Arg(0)).With("mesh-controller --help lists the flags")
	case verb == "run":
		cfg.alone = true
		err = Run(ctx, cfg)
	case verb == "recover":
		err = recoverRecord(ctx, cfg, stdout)
	case verb == "version":
		fmt.Fprintln(stdout, "mesh-controller", version)
	default:
		err = fault.New(fault.Invalid, "no command %q", verb).With("mesh-controller --help lists the commands")
	}
	return (&term.Term{Name: "mesh-controller", Out: stdout, Err: stderr}).Fail(err)
}

func bind(flags *flag.FlagSet, cfg *Config) {
	flags.StringVar(&cfg.Dir, "dir", cfg.Dir, "the data `folder`: keys, record, registry")
	flags.StringVar(&cfg.Record, "record", cfg.Record, "the record's database, a postgres:// `address`; SQLite in the data folder where it is not given")
	flags.StringVar(&cfg.Registry, "registry", cfg.Registry, "the `address` of a registry that keeps what is published, https://HOST[:PORT][/PREFIX]; a folder in the data folder where it is not given")
	flags.StringVar(&cfg.Login, "registry-login", cfg.Login, "the `file` with USER:SECRET of who may read, write and delete there; as anybody where it is not given")
	flags.StringVar(&cfg.Listen, "listen", cfg.Listen, "`host:port` of the API, the registry and joining")
	flags.StringVar(&cfg.Broker, "broker", cfg.Broker, "`host:port` of the broker")
	flags.StringVar(&cfg.Socket, "socket", cfg.Socket, "the API's unix socket; controller.sock in the data folder where it is not given")
	flags.StringVar(&cfg.Platform, "platform", cfg.Platform, "what modules are built for")
	flags.DurationVar(&cfg.Every, "every", cfg.Every, "how often each source is looked at without a hook")
	flags.DurationVar(&cfg.Lease, "lease", cfg.Lease, "how long a builder has a request without a word")
	flags.DurationVar(&cfg.LameDuck, "lame-duck", cfg.LameDuck, "over how long the broker lets its clients go at the end: 30s for thousands of nodes")
	flags.DurationVar(&cfg.Limit, "limit", cfg.Limit, "how long one build may take")
	flags.DurationVar(&cfg.Grace, "grace", cfg.Grace, "how long what nothing names stays in the registry, beside what a build may take")
	flags.IntVar(&cfg.KeepBuilds, "keep-builds", cfg.KeepBuilds, "how many of a module's builds stay in the record in any case; what is declared, or can be, stays besides; 0 keeps all")
	flags.Func("keep-logs", fmt.Sprintf("how many `MiB` the logs of all builds may take, compressed; 0 keeps all (default %d)", cfg.KeepLogs>>20), func(s string) error {
		n, err := strconv.ParseInt(s, 10, 32)
		cfg.KeepLogs = n << 20
		return err
	})
	flags.StringVar(&cfg.SSHKey, "ssh-key", cfg.SSHKey, "the private key's `file` that repositories over ssh are read with")
	flags.StringVar(&cfg.KnownHosts, "known-hosts", cfg.KnownHosts, "the `file` of the forges' host keys, for ssh; git/known_hosts in the data folder where it is not given")
	list := func(into *[]string) func(string) error {
		return func(s string) error { *into = append(*into, s); return nil }
	}
	flags.Func("name", "a `name` or address that nodes reach this controller by; may be given more than once, the first is the one that tokens carry", list(&cfg.Names))
	flags.Func("plain-host", "a `host` that repositories may be read from over plain http; may be given more than once", list(&cfg.HTTPHosts))
	flags.Func("file-folder", "a `folder` of this machine that repositories may be read from; may be given more than once", list(&cfg.Folders))
}

// recoverRecord makes this controller the one that declares: a higher epoch than any
// that the record, or the nodes by their hellos, have seen.
func recoverRecord(ctx context.Context, cfg Config, stdout io.Writer) error {
	k, err := openExistingKeys(cfg.Dir)
	if err != nil {
		return err
	}
	if err := refuseRunning(ctx, cfg.SocketPath()); err != nil {
		return err
	}
	record, err := db.Open(ctx, cfg.dsn())
	if err != nil {
		return err
	}
	epoch, err := TakeOver(ctx, record, k.holder)
	if err := errors.Join(err, record.Close()); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "this controller declares in epoch %d from its next start\n", epoch)
	return nil
}
