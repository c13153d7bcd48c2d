package source

import (
	"encoding/json"
	"strings"

	"noxmesh/document"
)

// Push is what a forge's webhook says of one ref: it stood at Before, and was
// pushed to After. An empty commit is none: the ref was made, or deleted.
type Push struct{ Ref, Before, After string }

// PushLimit is how much of a webhook's body is read.
const PushLimit = 1 << 20

// ParsePush reads the body of a webhook as GitHub, GitLab, Gitea and Forgejo
// send it for a push. Of everything else that stands there, and of bodies that
// are no such thing, nothing is read: the list of commits may be cut short.
func ParsePush(body []byte) (Push, bool) {
	if len(body) > PushLimit {
		return Push{}, false
	}
	var said struct {
		Ref    string `json:"ref"`
		Before string `json:"before"`
		After  string `json:"after"`
	}
	if json.Unmarshal(body, &said) != nil {
		return Push{}, false
	}
	p := Push{Ref: said.Ref, Before: said.Before, After: said.After}
	if len(p.Ref) > 300 || !strings.HasPrefix(p.Ref, "refs/") || !document.IsObjectID(p.Before) || !document.IsObjectID(p.After) || p.Before == p.After {
		return Push{}, false
	}
	for _, c := range []*string{&p.Before, &p.After} {
		if strings.Trim(*c, "0") == "" {
			*c = ""
		}
	}
	return p, true
}
