package supply

import (
	"context"
	"time"
)

// Hurry lets a session not wait before it tries again.
func Hurry(x *Session) { x.fetcher.wait = func(context.Context, time.Duration) {} }
