package oci

import (
	"encoding/json"
	"net/url"
	"strings"
	"time"
)

// granted is what whoever gives tokens answers.
type granted struct {
	Token       string `json:"token"`
	AccessToken string `json:"access_token"`
	ExpiresIn   int64  `json:"expires_in"`
}

// Challenge is where a registry sends whoever comes without a token.
type Challenge struct{ Realm, Service, Scope string }

// Address is where a token is asked for, and for what; empty asks for no scope. Whether
// that may be asked there is for the caller to say.
func (c Challenge) Address(scope string) (*url.URL, error) {
	u, err := url.Parse(c.Realm)
	if err != nil {
		return nil, err
	}
	q := u.Query()
	if c.Service != "" {
		q.Set("service", c.Service)
	}
	if scope != "" {
		q.Set("scope", scope)
	}
	u.RawQuery = q.Encode()
	return u, nil
}

// ParseChallenge reads the header WWW-Authenticate of a registry that takes
// tokens; not ok where it wants something else.
func ParseChallenge(header string) (c Challenge, ok bool) {
	scheme, rest, _ := strings.Cut(strings.TrimSpace(header), " ")
	if !strings.EqualFold(scheme, "bearer") || len(header) > 8<<10 {
		return c, false
	}
	for rest = strings.TrimSpace(rest); rest != ""; {
		name, after, has := strings.Cut(rest, "=")
		if !has {
			break
		}
		var value string
		if value, rest, has = word(after); !has {
			return c, false
		}
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "realm":
			c.Realm = value
		case "service":
			c.Service = value
		case "scope":
			c.Scope = value
		}
		rest = strings.TrimLeft(rest, ", ")
	}
	return c, c.Realm != ""
}

// word is one value of a header, in quotes or not, and what comes after it.
func word(s string) (value, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		value, rest, _ = strings.Cut(s, ",")
		return strings.TrimSpace(value), rest, true
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:], true
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return "", "", false
}

// ParseToken is the token that was given, and for how long it is used; empty
// where there is none that could be sent.
func ParseToken(body []byte) (string, time.Duration) {
	var g granted
	if json.Unmarshal(body, &g) != nil {
		return "", 0
	}
	text := g.Token
	if text == "" {
		text = g.AccessToken
	}
	if len(text) > 32<<10 || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", 0
	}
	good := time.Duration(min(max(g.ExpiresIn, 0), 24*60*60)) * time.Second
	return text, max(good, time.Minute) - 10*time.Second
}
