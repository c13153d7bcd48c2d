package status_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"noxmesh/delivery"
	"noxmesh/status"
)

// A module says which of its builds is being made, by whom, and where that one is:
// the one that was given first, whatever else waits or has ended.
func TestWhatIsBeingBuilt(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	f := status.ModuleFacts{Delivery: delivery.Facts{Module: "web", Names: map[string]string{"b1": "forge"}, Asked: []delivery.Asked{
		{ID: "done", State: delivery.Done, Builder: "b1", Since: now.Add(-time.Hour)},
		{ID: "open", State: delivery.Open, Since: now.Add(-time.Hour)},
		{ID: "second", State: delivery.Leased, Builder: "b2", Since: now.Add(-time.Minute)},
		{ID: "first", State: delivery.Leased, Builder: "b1", Since: now.Add(-2 * time.Minute), Doing: "test", DoingAt: now.Add(-time.Second)},
	}}}
	want := &status.Building{Request: "first", Builder: "forge", Since: now.Add(-2 * time.Minute), Step: "test", StepSince: now.Add(-time.Second)}
	if diff := cmp.Diff(want, status.OfModule(f, now).Building); diff != "" {
		t.Error(diff)
	}
	f.Delivery.Asked = f.Delivery.Asked[:2]
	if b := status.OfModule(f, now).Building; b != nil {
		t.Errorf("though nothing is being made, it says %+v", b)
	}
	u := status.UsualOf(delivery.Usual([]delivery.Past{{Took: 1500 * time.Millisecond}}))
	if diff := cmp.Diff(&status.Usual{Builds: 1, Took: 1500}, u); diff != "" {
		t.Error(diff)
	}
	if _, known := (*status.Usual)(nil).Of("test"); known || status.UsualOf(nil) != nil {
		t.Error("nothing is known and something said")
	}
}
