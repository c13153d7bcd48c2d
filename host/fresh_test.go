package host

// saysHowFresh holds each hello against the answer to the one before it.
func (c *controller) saysHowFresh() {
	c.mu.Lock()
	defer c.mu.Unlock()
	want := int64(0)
	for i, h := range c.hellos {
		if h.FreshAt == nil || *h.FreshAt != want {
			c.t.Errorf("hello %d has heard an answer of %v, want %d", i, h.FreshAt, want)
			return
		}
		want = c.given[i]
	}
}
