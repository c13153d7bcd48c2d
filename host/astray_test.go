package host

import (
	"testing"
	"testing/synctest"
	"time"

	"noxmesh/link"
)

// TN3: a node may have the answers to its own questions sent to another. They
// change nothing that the other says of itself.
func TestAnswersToSomebodyElseAreNotEvenRefused(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *controller, root string) {
		c.declare(declared(c, 5, "/a", "held"))
		s := begin(t, root, c)
		defer s.stop()
		time.Sleep(time.Second)
		s.push(nil)
		for _, kind := range []link.PayloadType{link.TypeReceipt, link.TypeHelloAnswer} {
			e, err := link.Seal(key(t, 2), kind, declared(c, 6, "/a", "wrong"))
			must(t, err)
			s.pushed(e)
			time.Sleep(time.Second)
		}
		s.pushed(c.declare(declared(c, 6, "/a", "next")))
		time.Sleep(time.Second)
		synctest.Wait()
		s.is("/a", "next")
		for _, h := range c.hellos {
			if h.Refused != nil {
				t.Errorf("it says %+v", h.Refused)
			}
		}
	})
}

// A node whose disk was put back to what it had been goes on above what the mesh
// has heard of it, and says again what it has last read back.
func TestARestoredNodeIsHeardAgain(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *controller, root string) {
		c.declare(declared(c, 1, "/a", "one"))
		s := begin(t, root, c)
		defer s.stop()
		time.Sleep(5 * time.Second)
		c.set(func(c *controller) {
			c.twist = func(a *link.HelloAnswer) {
				if a.Counter <= 5000 {
					a.Current, a.Declaration, a.After = false, nil, 5000
				}
			}
		})
		_, before := c.counts()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if h := c.lastHello(); h.Counter <= 5000 {
			t.Errorf("hello %d, though 5000 has been heard", h.Counter)
		}
		if _, after := c.counts(); after != before+1 || c.lastReport().Sequence <= 5000 {
			t.Errorf("%d reports, and then %d; the last is %d", before, after, c.lastReport().Sequence)
		}
	})
}
