package host

import (
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"noxmesh/host/keep"
	"noxmesh/host/system"
	"noxmesh/host/version"
	"noxmesh/internal/fault"
	"noxmesh/internal/term"
	"noxmesh/report"
)

const usage = `mesh-host makes this machine what its declaration says, reads it back, and reports.

Usage:
  mesh-host run                       keep this node; what the service manager starts
  mesh-host join TOKEN                let this machine into a mesh, once
  mesh-host apply FILE [--blobs DIR]  make it what a file says, once, without a mesh
  mesh-host plan FILE [--blobs DIR]   what that would do, and change nothing; 3 where it is something
  mesh-host status                    who it is, its version, what it accepted and applied, what fails
  mesh-host version

Flags:
  --root DIR         the tree to keep, instead of / (its state: DIR/var/lib/mesh-host)
  --blobs DIR        apply, plan: where bodies lie that are not in the file, as sha256/HEX
  --log text|json    how the log is written, to stderr (text)
  --heartbeat TIME   run: the longest time between two hellos (1m)
  --drift TIME       run: between two looks for drift (5m)
  --reach ADDRESSES  run, apply, plan: what checks may ask beside this machine, as 10.0.0.0/8,192.0.2.7
  -o json            the result as one JSON value

Examples:
  mesh-host join mesh-join-1.eyJjYSI6…
  mesh-host plan dotfiles.json --root ~/try
  mesh-host apply dotfiles.json --root ~/try
  mesh-host apply site.json --blobs ./blobs -o json
  mesh-host status

`

// line is one command line.
type line struct {
	verb, word  string
	root, blobs string
	output, log string
	heartbeat   time.Duration
	drift       time.Duration
	reach       []netip.Prefix
}

// Main runs one command line and gives its exit status.
func Main(ctx context.Context, args []string, version string, t *term.Term) int {
	l, err := parse(args)
	t.JSON = l.output == "json"
	if errors.Is(err, flag.ErrHelp) {
		if err := t.Printf("%s%s", usage, term.ExitHelp()); err != nil {
			return t.Fail(err)
		}
		return term.Answered
	}
	if err != nil {
		return t.Fail(err)
	}
	cfg := Default()
	cfg.Root, cfg.Version, cfg.Log = l.root, version, logger(l.log, t.Err)
	cfg.Heartbeat, cfg.Drift, cfg.Reach = l.heartbeat, l.drift, l.reach
	return l.perform(ctx, cfg, t)
}

func logger(form string, w io.Writer) *slog.Logger {
	if form == "json" {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return slog.New(slog.NewTextHandler(w, nil))
}

// parse takes flags before and after the words.
func parse(args []string) (line, error) {
	var l line
	flags := flag.NewFlagSet("mesh-host", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&l.root, "root", "/", "")
	flags.StringVar(&l.blobs, "blobs", "", "")
	flags.StringVar(&l.output, "o", "", "")
	flags.StringVar(&l.log, "log", "text", "")
	flags.DurationVar(&l.heartbeat, "heartbeat", Default().Heartbeat, "")
	flags.DurationVar(&l.drift, "drift", Default().Drift, "")
	flags.Func("reach", "", func(text string) (err error) { l.reach, err = prefixes(text); return err })
	var words []string
	for {
		if err := flags.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return l, err
			}
			return l, misused("%s", err)
		}
		if args = flags.Args(); len(args) == 0 {
			break
		}
		words, args = append(words, args[0]), args[1:]
	}
	if len(words) == 0 || words[0] == "help" {
		return l, flag.ErrHelp
	}
	l.verb, words = words[0], words[1:]
	takes, ok := map[string]int{"run": 0, "join": 1, "apply": 1, "plan": 1, "status": 0, "version": 0}[l.verb]
	switch {
	case !ok:
		return l, misused("there is no command %q", l.verb)
	case len(words) != takes:
		return l, misused("%q takes %d words after it, here are %d", l.verb, takes, len(words))
	case l.output != "" && l.output != "json":
		return l, misused("-o %q: want json", l.output)
	case l.log != "text" && l.log != "json":
		return l, misused("--log %q: want text or json", l.log)
	case l.blobs != "" && l.verb != "apply" && l.verb != "plan":
		return l, misused("--blobs belongs to apply and plan")
	}
	if takes == 1 {
		l.word = words[0]
	}
	return l, nil
}

// prefixes is addresses, each of one machine or of many.
func prefixes(text string) ([]netip.Prefix, error) {
	var all []netip.Prefix
	for one := range strings.SplitSeq(text, ",") {
		p, err := netip.ParsePrefix(one)
		if ip, bad := netip.ParseAddr(one); bad == nil {
			p, err = netip.PrefixFrom(ip, ip.BitLen()), nil
		}
		if err != nil {
			return nil, fault.New(fault.Invalid, "%q is no address, want it as 192.0.2.7 or 10.0.0.0/8", one)
		}
		all = append(all, p.Masked())
	}
	return all, nil
}

func misused(format string, args ...any) error {
	return fault.New(fault.Invalid, format, args...).With("mesh-host --help shows how it is used")
}

// memoryMark is from where on a program that ends soon looks harder for memory
// that it can use again. It is no limit: what is needed is taken.
const memoryMark = 15 << 20

func (l line) perform(ctx context.Context, cfg Config, t *term.Term) int {
	debug.SetMemoryLimit(memoryMark)
	switch l.verb {
	case "apply":
		debug.SetGCPercent(200) // it ends soon, and gives back everything
		r, err := Apply(ctx, cfg, l.word, l.blobs)
		if err != nil {
			return t.Fail(err)
		}
		return showApply(r, t)
	case "plan":
		p, err := Preview(ctx, cfg, l.word, l.blobs)
		if err != nil {
			return t.Fail(err)
		}
		return showPreview(p, t)
	case "run":
		debug.SetGCPercent(50) // it stays, and has little to do
		hold(0)
		cfg.alone = true
		if err := cfg.started(os.Getenv); err != nil {
			return t.Fail(err)
		}
		return t.Fail(Run(ctx, cfg))
	case "join":
		j, err := Join(ctx, cfg, l.word)
		if err != nil {
			return t.Fail(err)
		}
		return showJoined(j, t)
	case "status":
		s, err := Status(cfg)
		if err != nil {
			return t.Fail(err)
		}
		return showStatus(s, t)
	case "version":
		return showVersion(cfg.Version, t)
	}
	return t.Fail(fault.New(fault.Broken, "no command %q", l.verb))
}

// versionsVariable is where the unit of the package says that versions of the host
// lie. It is no flag: an earlier version is started by the unit of a later one, and
// would refuse a flag that it does not know.
const versionsVariable = "MESH_HOST_VERSIONS"

// started is c with what the environment says of who has started this process.
func (c *Config) started(getenv func(string) string) error {
	manager, err := system.Started(getenv)
	if err != nil {
		return err
	}
	if manager != nil {
		c.Manager = manager
	}
	if dir := getenv(versionsVariable); dir != "" && c.Root == "/" {
		c.Versions = version.Here(dir, keep.Path, c.Version, "/proc/self/exe")
	}
	return nil
}

// ended is the exit status of a report.
func ended(r report.Report) int {
	if r.Outcome == report.OutcomeFailed {
		return term.Unwell
	}
	return term.Answered
}
