package controller

import (
	"testing"
	"time"

	"noxmesh/internal/fault"
)

func TestUnwellSinceTheFirstFailureUntilAWrite(t *testing.T) {
	t.Parallel()
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	var u unwell
	u.note(fault.New(fault.NotFound, "no module"), at(1))
	if why, _ := u.now(); why != "" {
		t.Errorf("a refusal counts as an illness of the record: %q", why)
	}
	u.note(fault.New(fault.Unavailable, "disk full"), at(2))
	u.note(fault.New(fault.Unavailable, "read-only"), at(3))
	u.note(fault.New(fault.Conflict, "there already"), at(4))
	if why, since := u.now(); why != "read-only" || !since.Equal(at(2)) {
		t.Errorf("unwell = %q since %v, want the last reason since the first failure", why, since)
	}
	u.note(nil, at(5))
	if why, _ := u.now(); why != "" {
		t.Errorf("after a write: %q, want nothing", why)
	}
}
