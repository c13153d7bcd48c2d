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
