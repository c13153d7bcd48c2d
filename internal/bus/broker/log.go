package broker

import (
	"fmt"
	"log/slog"
)

// logger carries the server's words into the program's log. A fatal one ends
// the start and never the process.
type logger struct {
	to    *slog.Logger
	fatal chan string
}

func (l *logger) Noticef(format string, v ...any) { l.to.Debug(text(format, v)) }
func (l *logger) Warnf(format string, v ...any)   { l.to.Warn(text(format, v)) }
func (l *logger) Errorf(format string, v ...any)  { l.to.Warn(text(format, v)) }
func (l *logger) Debugf(format string, v ...any)  { l.to.Debug(text(format, v)) }
func (l *logger) Tracef(format string, v ...any)  { l.to.Debug(text(format, v)) }

func (l *logger) Fatalf(format string, v ...any) {
	select {
	case l.fatal <- text(format, v):
	default:
		l.to.Error(text(format, v))
	}
}

func text(format string, v []any) string { return "broker: " + fmt.Sprintf(format, v...) }
