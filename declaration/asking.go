package declaration

import (
	"net"
	"net/url"
	"strconv"
	"strings"

	"noxmesh/document"
)

// askLimit is how long what a check asks may be.
const askLimit = 2000

// check checks what a check asks, and what it expects.
func (f *flaws) check(of Type, t *Traits) {
	if of != Check {
		return
	}
	if t.Drift != "" {
		*f = append(*f, Flaw{"drift", "take it out", "a check is made, and nothing of it drifts"})
	}
	f.status(t)
	for _, text := range []struct {
		key, value, want, why string
		is                    func(string) bool
	}{
		{"http", t.HTTP, "want it as http://127.0.0.1:8080/healthz, without a user and what is after #", "is no address of HTTP", isURL},
		{"tcp", t.TCP, "want it as 127.0.0.1:5432", "is no address of TCP", isHostPort},
		{"dns", t.DNS, "want it as db.example.org", "is not the name of a host", isHostName},
	} {
		if text.value != "" && !text.is(text.value) {
			f.add(text.key, text.want, text.why, text.value)
		}
	}
	if t.File == "" {
		return
	}
	if why := document.BadPath(t.File); why != "" {
		f.add("file", "want a clean absolute path", why, t.File)
	} else if why := ReservedPath(t.File); why != "" {
		f.add("file", "no check looks there", "is "+why, t.File)
	}
}

// status checks the status that is right.
func (f *flaws) status(t *Traits) {
	if t.Status != 0 && (t.Status < 100 || t.Status > 599) {
		*f = append(*f, Flaw{"status", "want 100 to 599", "status " + number(t.Status)})
	}
	if t.Status != 0 && t.HTTP == "" {
		*f = append(*f, Flaw{"status", "take it out", "there is a status only of http"})
	}
}

// isURL reports whether s is an address that HTTP can ask. What is in it of a user
// would be said to whoever answers.
func isURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil || len(s) > askLimit || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }) || strings.ContainsRune(s, '#') {
		return false
	}
	return (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil && u.Opaque == "" && (u.Port() == "" && !strings.HasSuffix(u.Host, ":") || isPort(u.Port()))
}

func isHostPort(s string) bool {
	host, port, err := net.SplitHostPort(s)
	return err == nil && host != "" && len(s) <= askLimit && isPort(port) && !strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '/' })
}

func isHostName(s string) bool {
	return strings.Trim(s, lowers+uppers+digits+"-_.") == "" && len(s) <= 253 && !strings.Contains("."+s, "..")
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0 && strconv.FormatUint(n, 10) == s
}
