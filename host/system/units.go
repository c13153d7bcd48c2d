package system

import (
	"context"
	"errors"
	"os"
	"strconv"
	"time"

	"github.com/coreos/go-systemd/v22/dbus"
	bus "github.com/godbus/dbus/v5"

	"noxmesh/internal/fault"
)

const (
	unitsSocket  = "/run/systemd/private" // systemd itself, whether a bus daemon runs or not
	unitsService = "org.freedesktop.systemd1"
	unitsObject  = "/org/freedesktop/systemd1"
)

// Units is the service manager of the machine, over its own socket. It is used by
// several goroutines side by side.
type Units struct {
	conn  *dbus.Conn
	raw   *bus.Conn // the same connection
	leave context.CancelFunc
	step  func()
}

// unitsWait is how long systemd has to say that it is there.
const unitsWait = 30 * time.Second

// Units asks for the service manager of the machine. It is closed by Close, and
// when ctx ends.
func (r *Root) Units(ctx context.Context) (*Units, error) {
	if !r.Whole() {
		return nil, fault.New(fault.Conflict, "this host keeps the folder %q, and systemd keeps a machine", r.dir)
	}
	u, err := unitsAt(ctx, unitsSocket, unitsWait)
	if err == nil {
		u.step = r.Step
	}
	return u, err
}

// unitsAt asks for a service manager at a socket, and does not wait for longer than
// that until it answers.
func unitsAt(ctx context.Context, socket string, wait time.Duration) (*Units, error) {
	ctx, leave := context.WithCancel(ctx)
	late := time.AfterFunc(wait, leave)
	u := &Units{leave: leave, step: func() {}}
	var err error
	u.conn, err = dbus.NewConnection(func() (*bus.Conn, error) {
		conn, err := bus.Dial("unix:path="+socket, bus.WithContext(ctx))
		if err == nil {
			err = conn.Auth([]bus.Auth{bus.AuthExternal(strconv.Itoa(os.Getuid()))})
		}
		if err == nil && u.raw == nil {
			u.raw = conn
		}
		return conn, err
	})
	if !late.Stop() && err == nil {
		u.conn.Close()
		err = ctx.Err()
	}
	if err != nil {
		leave()
		return nil, fault.Wrap(fault.Conflict, err, "ask systemd at %q", socket).With("a service needs a machine that systemd has booted, and a host that is root")
	}
	return u, nil
}

// Close ends the connection.
func (u *Units) Close() {
	u.conn.Close()
	u.leave()
}

// Unit is what systemd says of one unit.
type Unit struct {
	Name string // its own: what was asked for may be another one of it

	Load      string // loaded, not-found, masked, bad-setting, error
	LoadError string
	Active    string // active, activating, inactive, failed, …
	Sub       string // running, exited, auto-restart, …
	Result    string // success, exit-code, signal, timeout, …
	Stale     bool   // its file has changed since it was read
	File      string // where that is; empty where there is none

	Invocation string
	Began      time.Time // when it was last started, by the machine's clock; by what that says now, where it was set back since
	Age        time.Duration
	PID        int64
	Restarts   int64
	Ran        time.Duration // how long its main process ran that has ended last
	Ended      int64         // how that ended: 1 by itself, 2 and 3 by a signal, 0 where none has
	Status     int64         // with this, or by this signal

	Kind      string // of a service: simple, forking, oneshot, notify, …
	Remains   bool   // it counts as active when its process has ended
	Condition bool   // whatever has to be so to start it was, or it was never tried
}

// Read is what systemd says of the unit with this name. One that there is not is
// no error: its Load is not-found.
func (u *Units) Read(ctx context.Context, name string) (Unit, error) {
	u.step()
	all, err := u.conn.GetAllPropertiesContext(ctx, name)
	if err != nil {
		return Unit{}, said(err, "ask systemd about "+strconv.Quote(name))
	}
	p := properties(all)
	unit := Unit{
		Name: p.text("Id"), Load: p.text("LoadState"), Active: p.text("ActiveState"), Sub: p.text("SubState"), Result: p.text("Result"),
		Stale: p.yes("NeedDaemonReload"), File: p.text("FragmentPath"), PID: p.number("MainPID"), Restarts: p.number("NRestarts"),
		Ended: p.number("ExecMainCode"), Status: p.number("ExecMainStatus"), Kind: p.text("Type"), Remains: p.yes("RemainAfterExit"), Condition: p.yes("ConditionResult") || p.number("ConditionTimestamp") == 0,
	}
	if why, ok := all["LoadError"].([]any); ok && len(why) == 2 {
		unit.LoadError, _ = why[1].(string)
	}
	if id, ok := all["InvocationID"].([]byte); ok {
		unit.Invocation = hexOf(id)
	}
	began, mono := p.number("ExecMainStartTimestamp"), p.number("ExecMainStartTimestampMonotonic")
	if began == 0 {
		began, mono = p.number("InactiveExitTimestamp"), p.number("InactiveExitTimestampMonotonic")
	}
	unit.Began = time.UnixMicro(began)
	if now := uptime(); mono > 0 && now > mono {
		unit.Age = time.Duration(now-mono) * time.Microsecond
		unit.Began = started(unit.Began, time.Now(), unit.Age)
	}
	if end := p.number("ExecMainExitTimestampMonotonic"); end > mono {
		unit.Ran = time.Duration(end-mono) * time.Microsecond
	}
	return unit, nil
}

// started is when something was that was noted at a time, and is so old now. What came after it
// is newer than this, also where the clock was set back in between.
func started(noted, now time.Time, age time.Duration) time.Time {
	if began := now.Add(-age); began.Before(noted) {
		return began
	}
	return noted
}

// Enabled is whether something starts the unit at boot, in systemd's words, as
// the disk has it: enabled, disabled, static, masked, …; empty where there is no such unit.
func (u *Units) Enabled(ctx context.Context, name string) (string, error) {
	var state string
	err := u.raw.Object(unitsService, unitsObject).CallWithContext(ctx, unitsService+".Manager.GetUnitFileState", 0, name).Store(&state)
	var said bus.Error
	if errors.As(err, &said) && (said.Name == "org.freedesktop.DBus.Error.FileNotFound" || said.Name == unitsService+".NoSuchUnit") {
		return "", nil
	}
	if err != nil {
		return "", saidOf(err, "ask systemd whether %q is enabled", name)
	}
	return state, nil
}

// Enable has the unit started at boot.
func (u *Units) Enable(ctx context.Context, name string) error {
	_, _, err := u.conn.EnableUnitFilesContext(ctx, []string{name}, false, false)
	return said(err, "enable it")
}

// Disable has it started at boot no longer, neither for good nor until the next one.
func (u *Units) Disable(ctx context.Context, name string) error {
	for _, runtime := range []bool{false, true} {
		if _, err := u.conn.DisableUnitFilesContext(ctx, []string{name}, runtime); err != nil {
			return said(err, "disable it")
		}
	}
	return nil
}

// Reload has systemd read its files anew.
func (u *Units) Reload(ctx context.Context) error {
	return said(u.conn.ReloadContext(ctx), "have systemd read its files anew")
}

// Reset has systemd forget that the unit has failed, and how often it was started.
func (u *Units) Reset(ctx context.Context, name string) error {
	return said(u.conn.ResetFailedUnitContext(ctx, name), "reset it")
}

// Start starts the unit, and is how that ended: done, failed, timeout, dependency and others.
func (u *Units) Start(ctx context.Context, name string) (string, error) {
	return job(ctx, name, "start it", u.conn.StartUnitContext)
}

// Restart is Start of a unit that is stopped before where it runs.
func (u *Units) Restart(ctx context.Context, name string) (string, error) {
	return job(ctx, name, "restart it", u.conn.RestartUnitContext)
}

// Begin has it started again, and does not wait for that: it may be this process that ends by it.
func (u *Units) Begin(ctx context.Context, name string) error {
	_, err := u.conn.RestartUnitContext(ctx, name, "replace", nil)
	return said(err, "restart it")
}

// Stop stops it.
func (u *Units) Stop(ctx context.Context, name string) (string, error) {
	return job(ctx, name, "stop it", u.conn.StopUnitContext)
}

func job(ctx context.Context, name, doing string, begin func(context.Context, string, string, chan<- string) (int, error)) (string, error) {
	result := make(chan string, 1)
	began := time.Now()
	if _, err := begin(ctx, name, "replace", result); err != nil {
		return "", said(err, doing)
	}
	select {
	case r := <-result:
		return r, nil
	case <-ctx.Done():
		return "", fault.New(fault.Conflict, "%s: systemd was not done with that after %s", doing, time.Since(began).Round(time.Second))
	}
}

// said is an error of systemd's as it says it.
func said(err error, doing string) error { return saidOf(err, "%s", doing) }

func saidOf(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	if by := Blamed(err.Error(), "/etc/systemd/system"); by != nil {
		err = by
	}
	return fault.Wrap(fault.Conflict, err, format, args...)
}
