package system

import (
	"net"
	"strconv"
	"strings"
	"time"

	"noxmesh/internal/fault"
)

// Manager is the service manager that has started this process, and asks to be told
// how it is.
type Manager struct {
	conn  net.Conn
	watch time.Duration
}

// Started is who has started this process, as its environment says; nil where
// nobody asks to be told.
func Started(getenv func(string) string) (*Manager, error) {
	socket := getenv("NOTIFY_SOCKET")
	if socket == "" {
		return nil, nil //nolint:nilnil // nobody asks
	}
	if name, abstract := strings.CutPrefix(socket, "@"); abstract {
		socket = "\x00" + name
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return nil, fault.Wrap(fault.Conflict, err, "reach the service manager at %q", socket)
	}
	m := &Manager{conn: conn}
	if micros, err := strconv.ParseInt(getenv("WATCHDOG_USEC"), 10, 64); err == nil {
		m.watch = time.Duration(micros) * time.Microsecond
	}
	return m, nil
}

// Watch is within what time it wants to hear that this process works; 0 for never.
func (m *Manager) Watch() time.Duration { return m.watch }

// Tell tells it one thing, as systemd takes it: READY=1 and the like.
func (m *Manager) Tell(what string) error {
	if _, err := m.conn.Write([]byte(what)); err != nil {
		return fault.Wrap(fault.Unavailable, err, "tell the service manager %q", what)
	}
	return nil
}
