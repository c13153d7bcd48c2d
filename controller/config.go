package controller

import (
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"noxmesh/internal/fault"
	"noxmesh/internal/oci/elsewhere"
)

// Config is everything that a controller is told from outside.
type Config struct {
	Dir        string        // its data: keys, record, registry
	Record     string        // "postgres://…"; SQLite in Dir where it is empty
	Registry   string        // "https://…": another's registry, to keep what is published; a folder in Dir where it is empty
	Login      string        // a file with USER:SECRET, for that; empty: as anybody
	Listen     string        // host:port of the API, the registry and joining, over TLS
	Broker     string        // host:port of the broker, over TLS
	Names      []string      // the names and addresses that nodes reach both by; the first is the one that tokens carry
	Socket     string        // the API's unix socket; Dir/controller.sock where it is empty
	Platform   string        // what modules are built for
	Every      time.Duration // between two looks at one source, without a hook
	Hello      time.Duration // within which a silent node is not yet called silent
	Lease      time.Duration // that a builder has a request for, until it says that it is working
	Limit      time.Duration // that one build may take
	Grace      time.Duration // that what nothing names stays in the registry, beside Limit
	KeepBuilds int           // how many lines of the record of builds stay of each module in any case; zero: all
	KeepLogs   int64         // bytes that all logs may take in the record; zero: whatever they take
	LameDuck   time.Duration // over which the broker lets its clients go at the end; zero to cut them at once
	HTTPHosts  []string      // hosts that repositories may be read from over plain http
	Folders    []string      // folders of this machine that repositories may be read from
	SSHKey     string        // a private key's file, for repositories over ssh; empty for none
	KnownHosts string        // the forges' host keys, for the same; git/known_hosts in Dir where it is empty
	Version    string
	Log        *slog.Logger

	alone bool // nothing else is in this process: what is set for all of it is the controller's to set
}

// Default is the configuration of a controller that is told nothing.
func Default() Config {
	return Config{
		Dir:        "/var/lib/mesh-controller",
		Listen:     ":7443",
		Broker:     ":7222",
		Platform:   runtime.GOOS + "/" + runtime.GOARCH,
		Every:      time.Minute,
		Hello:      time.Minute,
		Lease:      30 * time.Second,
		Limit:      30 * time.Minute,
		Grace:      24 * time.Hour,
		KeepBuilds: 1000,
		KeepLogs:   1 << 30,
		Version:    "dev",
		Log:        slog.Default(),
	}
}

// Validate names everything that is wrong with the configuration at once.
func (c Config) Validate() error {
	var wrong []error
	bad := func(format string, args ...any) { wrong = append(wrong, fault.New(fault.Invalid, format, args...)) }
	if !filepath.IsAbs(c.Dir) {
		bad("the data folder %q is not an absolute path", c.Dir)
	}
	for what, at := range map[string]string{"API": c.Listen, "broker": c.Broker} {
		if _, _, err := net.SplitHostPort(at); err != nil {
			bad("the %s listens on %q, want host:port or :port", what, at)
		}
	}
	if len(c.Names) == 0 {
		bad("no name that nodes reach this controller by: give one with --name")
	}
	for _, name := range c.Names {
		if name == "" || strings.ContainsAny(name, "/ :") && net.ParseIP(name) == nil {
			bad("%q is not a host name or an address", name)
		}
	}
	if path := c.SocketPath(); len(path) > socketLimit {
		bad("the socket's path %q has %d bytes, and the system takes %d: give a shorter one with --socket", path, len(path), socketLimit)
	}
	for what, d := range map[string]time.Duration{"--every": c.Every, "--lease": c.Lease, "--limit": c.Limit, "--grace": c.Grace} {
		if d <= 0 {
			bad("%s is %s, want more than nothing", what, d)
		}
	}
	return errors.Join(append(wrong, c.validateRegistry(), c.validateRetention())...)
}

func (c Config) validateRegistry() error {
	switch {
	case c.Registry != "":
		return elsewhere.Check(c.Registry)
	case c.Login != "":
		return fault.New(fault.Invalid, "--registry-login %q is for a registry that is named with --registry", c.Login)
	}
	return nil
}

func (c Config) validateRetention() error {
	var wrong []error
	if c.KeepBuilds < 0 || c.KeepBuilds > 0 && c.KeepBuilds < leastBuilds {
		wrong = append(wrong, fault.New(fault.Invalid, "--keep-builds is %d, want 0 for all, or %d or more", c.KeepBuilds, leastBuilds))
	}
	if c.KeepLogs < 0 {
		wrong = append(wrong, fault.New(fault.Invalid, "--keep-logs is %d MiB, want 0 for all, or more", c.KeepLogs>>20))
	}
	return errors.Join(wrong...)
}

// leastBuilds is what the comparison may look back on: the last attempts at what
// is to be built now.
const leastBuilds = 20

// socketLimit is what Linux takes for the path of a unix socket, without its NUL.
const socketLimit = 107

// SocketPath is where the API listens for people on this machine.
func (c Config) SocketPath() string {
	if c.Socket != "" {
		return c.Socket
	}
	return filepath.Join(c.Dir, "controller.sock")
}

// recordFile is the record's file in the data folder, where it is SQLite.
const recordFile = "record.db"

// dsn is where the record is.
func (c Config) dsn() string {
	if c.Record != "" {
		return c.Record
	}
	return "sqlite:" + filepath.Join(c.Dir, recordFile)
}
