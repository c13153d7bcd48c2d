package git

import (
	"net/url"
	"time"

	"noxmesh/internal/manners"
)

// Later is a question that was not asked: its forge has enough of them under way, or
// has asked to be left alone. It says nothing of the repository.
type Later = manners.Later

// Held is a forge that has asked to be left alone, and is until then.
type Held = manners.Held

// Held reports whether the forge of this address has asked to be left alone, and
// is at this time: whoever looks at any repository of it before its end gets Later.
func (g *Git) Held(url string, now time.Time) (Held, bool) {
	return g.manners.Held(hostOf(url), now)
}

// hostOf is the host that an address names, empty for this machine's folders.
func hostOf(address string) string {
	if m := scpLike.FindStringSubmatch(address); m != nil {
		return m[2]
	}
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}
