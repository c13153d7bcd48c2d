package controller

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/link"
)

// TW2: a node whose hellos come is not taken for one that hears the answers. One
// that is lost says nothing, three in a row are stuck; and one that gets through
// ends it, as does the receipt for what was declared.
func TestANodeThatDoesNotHearItsAnswersIsFound(t *testing.T) {
	t.Parallel()
	was, wanted := declaration.Tuple{Epoch: 1, Generation: 41, Digest: document.Sum([]byte("a"))}, declaration.Tuple{Epoch: 1, Generation: 42, Digest: document.Sum([]byte("b"))}
	const never = -1 // of a host that does not say it
	start := time.UnixMilli(1_800_000_000_000)
	for name, c := range map[string]struct {
		fresh    []int // at each hello, the number of the hello whose answer was heard last; 0: none
		accepted []declaration.Tuple
		told     declaration.Tuple
		refused  bool
		count    int64
		says     string
	}{
		"it hears them":                      {fresh: []int{0, 1, 2, 3}},
		"one is lost":                        {fresh: []int{0, 1, 1, 3}},
		"two are lost":                       {fresh: []int{0, 1, 1, 1}, count: 2, says: "no answer reaches it since 2027-01-15T08:01:00Z; it has accepted 1/41"},
		"three are lost":                     {fresh: []int{0, 1, 1, 1, 1}, count: 3, says: "no answer reaches it since 2027-01-15T08:01:00Z; it has accepted 1/41"},
		"it has heard none at all":           {fresh: []int{0, 0, 0, 0}, count: 3, says: "no answer reaches it; it has accepted 1/41"},
		"three are lost, and one is heard":   {fresh: []int{0, 1, 1, 1, 1, 5}},
		"an older host":                      {fresh: []int{never, never, never, never}},
		"it hears them and gives no receipt": {fresh: []int{0, 1, 2, 3}, told: wanted, count: 3, says: "there is no receipt for 1/42; it has accepted 1/41"},
		"an older host gives none":           {fresh: []int{never, never, never, never}, told: wanted, count: 3, says: "there is no receipt for 1/42; it has accepted 1/41"},
		"the receipt comes":                  {fresh: []int{0, 1, 2, 3}, told: wanted, accepted: []declaration.Tuple{was, was, was, wanted}},
		"it has refused it":                  {fresh: []int{0, 1, 2, 3}, told: wanted, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &heard{nodes: map[string]said{}}
			for i, fresh := range c.fresh {
				hello := link.Hello{Node: "n", Counter: int64(i + 1), Accepted: was}
				if i < len(c.accepted) {
					hello.Accepted = c.accepted[i]
				}
				if c.refused {
					hello.Refused = &link.Refusal{Epoch: wanted.Epoch, Generation: wanted.Generation, Digest: wanted.Digest}
				}
				if fresh != never {
					at := int64(0)
					if fresh > 0 {
						at = start.Add(time.Duration(fresh) * time.Minute).UnixMilli()
					}
					hello.FreshAt = &at
				}
				h.add(hello, start.Add(time.Duration(i+1)*time.Minute))
				h.answers("n", c.told)
			}
			is := h.last("n").deaf
			if is.Count != c.count || !strings.HasSuffix(is.Says, c.says) {
				t.Errorf("%d: %q, want %d: %q", is.Count, is.Says, c.count, c.says)
			}
		})
	}
}

// A hello that was not answered is no loss of an answer, and neither is the first
// that this process hears.
func TestAHelloThatWasNotAnsweredLosesNothing(t *testing.T) {
	t.Parallel()
	h, at := &heard{nodes: map[string]said{}}, int64(7)
	for i := range 5 {
		h.add(link.Hello{Node: "n", Counter: int64(i + 1), FreshAt: &at}, time.UnixMilli(int64(i)))
		if is := h.last("n").deaf; is.Count != 0 {
			t.Fatal(fmt.Sprint(is))
		}
	}
}
