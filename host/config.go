package host

import (
	"log/slog"
	"net/netip"
	"time"

	"noxmesh/host/version"
	"noxmesh/internal/fault"
)

// Config is all that a host is told by whoever starts it. The rest it has from its mesh.
type Config struct {
	Root    string       // the tree that it keeps: "/", or a folder that plays its part
	Version string       // of this program
	Log     *slog.Logger // for whoever runs it

	Heartbeat   time.Duration // the longest time between two hellos; the shortest is half of it
	Drift       time.Duration // between two looks for drift, a tenth more or less
	Backoff     time.Duration // the first wait after a failure; it doubles up to BackoffMost
	BackoffMost time.Duration

	Manager  Manager           // that has started this process and asks how it is; nil where none does
	Versions *version.Versions // of the host, where its package has put them on the machine; nil where it has not

	Reach []netip.Prefix // what checks may ask beside this machine itself

	alone bool // nothing else is in this process: what is set for all of it is the host's to set
}

// Default is a host on the machine itself.
func Default() Config {
	return Config{
		Root: "/", Version: "dev", Log: slog.New(slog.DiscardHandler),
		Heartbeat: time.Minute, Drift: 5 * time.Minute, Backoff: 5 * time.Second, BackoffMost: 5 * time.Minute,
	}
}

// Validate is what is wrong with c, or nil.
func (c Config) Validate() error {
	switch {
	case c.Root == "":
		return fault.New(fault.Invalid, "configuration: no root").With("give a folder to --root; the machine itself is /")
	case c.Log == nil:
		return fault.New(fault.Broken, "configuration: no log")
	case c.Heartbeat < time.Second || c.Heartbeat > time.Hour:
		return fault.New(fault.Invalid, "configuration: heartbeat %s, want 1s to 1h", c.Heartbeat)
	case c.Drift < time.Second:
		return fault.New(fault.Invalid, "configuration: drift %s, want 1s or more", c.Drift)
	case c.Backoff <= 0 || c.BackoffMost < c.Backoff:
		return fault.New(fault.Invalid, "configuration: backoff %s to %s, want the first above zero and not above the last", c.Backoff, c.BackoffMost)
	}
	return nil
}
