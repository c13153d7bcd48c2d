package controller

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"noxmesh/internal/fault"
	"noxmesh/internal/git"
)

// TestSomebodyWhoWaitsIsAnsweredOnceTheForgeMayBeAsked, and told when to come
// again where that is too long.
func TestSomebodyWhoWaitsIsAnsweredOnceTheForgeMayBeAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked, began := 0, time.Now()
		got, err := soon(t.Context(), func() (string, error) {
			if asked++; asked < 3 {
				return "", git.Later{After: 2 * time.Second}
			}
			return "a commit", nil
		})
		if err != nil || got != "a commit" || asked != 3 || time.Since(began) != 4*time.Second {
			t.Errorf("%q, %v, asked %d times in %s", got, err, asked, time.Since(began))
		}
		began = time.Now()
		_, err = soon(t.Context(), func() (string, error) { return "", git.Later{After: 3 * time.Second} })
		if later, is := errors.AsType[git.Later](err); !is || fault.KindOf(err) != fault.Unavailable || fault.HintOf(err) == "" || time.Since(began) > patience || later.After != 3*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}
