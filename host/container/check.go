package container

import (
	"encoding/json"

	"noxmesh/internal/fault"
)

// Check is how an image says that its health is to be looked at.
type Check struct {
	Test        []string `json:"test"`               // CMD and its words, or CMD-SHELL and a line
	Interval    int64    `json:"interval,omitempty"` // in nanoseconds, as every time here; 0 where the runtime's own is right
	Timeout     int64    `json:"timeout,omitempty"`
	StartPeriod int64    `json:"startperiod,omitempty"`
	Retries     int64    `json:"retries,omitempty"`
}

// Sound is the check where it is one.
func (c *Check) Sound() *Check {
	if c == nil || len(c.Test) < 2 || c.Test[0] != "CMD" && c.Test[0] != "CMD-SHELL" {
		return nil
	}
	return c
}

// ParseCheck is the check that an image's configuration says; nil where it says none.
func ParseCheck(configuration []byte) (*Check, error) {
	var c struct {
		Config struct{ Healthcheck *Check }
	}
	if err := json.Unmarshal(configuration, &c); err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "read the configuration of an image")
	}
	return c.Config.Healthcheck.Sound(), nil
}
