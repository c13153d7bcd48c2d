package git

import (
	"net"
	"net/url"
	"path"
	"strings"
)

// redact is the address without what may be a secret in it: whatever stands
// before an @ that is not just an ssh user, and whatever follows a question
// mark. It is for addresses that are refused, so it need not understand them.
func redact(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		scheme, rest = "", address
	}
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		rest = rest[:i+1] + "***"
	}
	first, _, _ := strings.Cut(rest, "/")
	at := strings.LastIndex(first, "@")
	if host, port, colon := strings.Cut(first, ":"); at < 0 && colon && host != "" && strings.Trim(port, "0123456789") != "" {
		at = strings.LastIndex(rest, "@") // a password with a slash in it
	}
	if at >= 0 && (ok && scheme != "ssh" || strings.Contains(rest[:at], ":")) {
		rest = "***" + rest[at:]
	}
	if !ok {
		return rest
	}
	return scheme + "://" + rest
}

// Key is one text for all the ways to write the address of one repository: with
// and without .git, a user, a slash at the end or the scheme's own port, with
// the host in any case, as ssh:// or USER@HOST:PATH, over http, https or ssh. A
// port of its own stays part of it, and so does the case of the path. It is
// to compare by, never to read from.
func Key(address string) string {
	scheme, _, ok := strings.Cut(address, "://")
	host, p := "", ""
	if m := scpLike.FindStringSubmatch(address); !ok && m != nil {
		host, p = m[2], m[3]
	} else if u, err := url.Parse(address); err == nil {
		host, p = hostKey(scheme, u), u.Path
	} else {
		return address
	}
	p = strings.TrimSuffix(path.Clean("/"+p), "/.git")
	return strings.ToLower(host) + strings.TrimSuffix(p, ".git")
}

func hostKey(scheme string, u *url.URL) string {
	own := map[string]string{"http": "80", "https": "443", "ssh": "22"}
	host, port := u.Hostname(), u.Port()
	if port == own[scheme] {
		port = ""
	}
	switch {
	case port != "":
		return net.JoinHostPort(host, port)
	case strings.Contains(host, ":"):
		return "[" + host + "]"
	}
	return host
}

// Same reports whether two addresses are one repository, read in one way: its
// key, and the protocol.
func Same(a, b string) bool { return Key(a) == Key(b) && way(a) == way(b) }

func way(address string) string {
	if scheme, _, ok := strings.Cut(address, "://"); ok {
		return scheme
	}
	return "ssh"
}
