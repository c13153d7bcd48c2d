package recipe

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"noxmesh/delivery/imports/container"
)

// health is how it is found out whether what an image runs is well, as an image's
// configuration has it.
type health struct {
	Test          []string      `json:"Test,omitempty"`
	Interval      time.Duration `json:"Interval,omitempty"`
	Timeout       time.Duration `json:"Timeout,omitempty"`
	StartPeriod   time.Duration `json:"StartPeriod,omitempty"`
	StartInterval time.Duration `json:"StartInterval,omitempty"`
	Retries       int           `json:"Retries,omitempty"`
}

// longest is what a time in it may be at most: a number that every reader of JSON has.
const longest = 100 * 24 * time.Hour

// readHealth is what HEALTHCHECK says.
func readHealth(step container.Step) (*health, error) {
	kind, rest, _ := strings.Cut(step.Rest, " ")
	if at := strings.IndexAny(kind, "[\t"); at > 0 {
		kind, rest = kind[:at], step.Rest[at:]
	}
	rest = strings.TrimSpace(rest)
	switch strings.ToUpper(kind) {
	case "NONE":
		if rest != "" || len(step.Flags) > 0 {
			return nil, errors.New("NONE stands alone")
		}
		return &health{Test: []string{"NONE"}}, nil
	case "CMD":
	default:
		return nil, fmt.Errorf("%q is followed by CMD and a command, or is NONE", strings.TrimSpace("HEALTHCHECK "+kind))
	}
	h := &health{Test: []string{"CMD-SHELL", rest}}
	if all, list := words(rest); list {
		h.Test = append([]string{"CMD"}, all...)
	}
	if len(h.Test) < 2 || h.Test[1] == "" {
		return nil, errors.New("CMD is followed by a command")
	}
	for _, flag := range step.Flags {
		if err := h.flag(flag); err != nil {
			return nil, err
		}
	}
	return h, nil
}

func (h *health) flag(flag string) error {
	key, value, _ := strings.Cut(flag, "=")
	if key == "--retries" {
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil || n < 0 {
			return fmt.Errorf("%s: want a number from 0 on", flag)
		}
		h.Retries = int(n)
		return nil
	}
	into, known := map[string]*time.Duration{
		"--interval": &h.Interval, "--timeout": &h.Timeout, "--start-period": &h.StartPeriod, "--start-interval": &h.StartInterval,
	}[key]
	if !known {
		return fmt.Errorf("%s is not taken", flag)
	}
	d, err := time.ParseDuration(value)
	if err != nil || d != 0 && d < time.Millisecond || d > longest {
		return fmt.Errorf("%s: want a time as 30s, from 1ms to %s", flag, longest)
	}
	*into = d
	return nil
}
