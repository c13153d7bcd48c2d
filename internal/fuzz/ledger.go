package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// long is from when on a target's time is worth being kept with the source.
const long = 10 * time.Minute

// A ledger is what targets have had that have had long: a line each, of the target,
// the code that it was then, and the CPU time. It lies beside this program, so that
// what one machine has done no other does again.
type ledger struct {
	file string
	had  map[string]had // by target
}

// had is how long a target has been clean for, and as what code.
type had struct {
	code string
	cpu  time.Duration
}

func openLedger(file string) (ledger, error) {
	l := ledger{file, map[string]had{}}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return l, err
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) != 4 {
			return l, fmt.Errorf("read %s: %q is not folder, target, code and time", file, strings.TrimSpace(line))
		}
		cpu, err := time.ParseDuration(words[3])
		if err != nil {
			return l, fmt.Errorf("read %s: %w", file, err)
		}
		l.had[words[0]+" "+words[1]] = had{words[2], cpu}
	}
	return l, nil
}

// of is how long the target has been clean for as this code.
func (l ledger) of(t target, code string) time.Duration {
	if h := l.had[t.String()]; h.code == code {
		return h.cpu
	}
	return 0
}

// note keeps what the target has had, where that was long.
func (l ledger) note(t target, code string, cpu time.Duration) error {
	cpu = cpu.Round(time.Second)
	if cpu < long || l.of(t, code) >= cpu {
		return nil
	}
	l.had[t.String()] = had{code, cpu}
	lines := make([]string, 0, len(l.had))
	for name, h := range l.had {
		lines = append(lines, fmt.Sprintf("%s %s %s\n", name, h.code, h.cpu))
	}
	slices.Sort(lines)
	staged := l.file + ".new"
	if err := os.WriteFile(staged, []byte(strings.Join(lines, "")), 0o644); err != nil {
		return err
	}
	return os.Rename(staged, l.file)
}
