package git

import (
	"net"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

// Allow is what the operator adds to https and ssh, each by name.
type Allow struct {
	Hosts   []string // http without TLS: "forge.lan" or "forge.lan:3000"; loopback needs no leave
	Folders []string // file:///…: absolute folders; a repository in one of them, or the folder itself
}

const maxURL = 2048

var (
	hostName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	userName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)
	scpLike  = regexp.MustCompile(`^([^@:/]*)@([^@:/]*):([^:].*)$`)
)

const wantURL = "https://HOST/PATH, ssh://USER@HOST/PATH or USER@HOST:PATH"

// CheckURL refuses every address that git could take for anything but a
// repository on one of the allowed ways. It does not look whether anything is there.
func CheckURL(address string, allow Allow) error {
	_, err := parseURL(address, allow)
	return err
}

// parseURL is the one protocol that git may speak to read address.
func parseURL(address string, allow Allow) (protocol string, err error) {
	if err := checkText(address); err != nil {
		return "", err
	}
	scheme, _, ok := strings.Cut(address, "://")
	if !ok {
		return "ssh", checkSCP(address)
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", refuse(address, "it is not an address").With("write it as %s", wantURL)
	}
	if err := checkParts(address, u); err != nil {
		return "", err
	}
	switch scheme {
	case "https":
		return scheme, checkWeb(address, u)
	case "http":
		return scheme, checkPlain(address, u, allow.Hosts)
	case "ssh":
		return scheme, checkSSH(address, u)
	case "file":
		return scheme, checkFile(address, u, allow.Folders)
	}
	return "", refuse(address, "%q is no way that source is read", document.Short(scheme)).With("write it as %s", wantURL)
}

func refuse(address, why string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, "repository %q: "+why, append([]any{document.Short(redact(address))}, args...)...)
}

// checkText refuses what must not stand in any address, whatever its form.
func checkText(address string) error {
	switch {
	case address == "":
		return fault.New(fault.Invalid, "the repository is empty").With("write it as %s", wantURL)
	case len(address) > maxURL:
		return fault.New(fault.Invalid, "the repository has %d characters, at most %d are read", len(address), maxURL)
	case !utf8.ValidString(address):
		return refuse(address, "it is not UTF-8")
	case strings.HasPrefix(address, "-"):
		return refuse(address, "it begins with a hyphen and could be taken for an option").With("write it as %s", wantURL)
	}
	for _, r := range address {
		if bad := badRune(r); bad != "" {
			return refuse(address, "it holds %s (%U)", bad, r).With("type the address again instead of pasting it")
		}
	}
	return nil
}

func badRune(r rune) string {
	switch {
	case unicode.IsControl(r):
		return "a control character"
	case unicode.Is(unicode.Cf, r):
		return "an invisible character"
	case unicode.IsSpace(r):
		return "a space"
	case r == '\\':
		return "a backslash"
	case !unicode.IsGraphic(r):
		return "a character that cannot be shown"
	}
	return ""
}

// checkParts refuses what no scheme has a use for.
func checkParts(address string, u *url.URL) error {
	if u.Opaque != "" {
		return refuse(address, "it has no host").With("write it as %s", wantURL)
	}
	if u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(address, "#") {
		return refuse(address, "it has a query or a fragment").With("leave out everything from ? or #")
	}
	if _, has := u.User.Password(); has {
		return refuse(address, "a password stands in it").With("leave it out: an address is shown to everybody")
	}
	for _, r := range u.Path {
		if bad := badRune(r); bad != "" && r != ' ' {
			return refuse(address, "its path holds %s (%U)", bad, r)
		}
	}
	return nil
}

func checkWeb(address string, u *url.URL) error {
	if u.User != nil {
		return refuse(address, "a user or a token stands in it").With("leave it out: an address is shown to everybody")
	}
	if err := checkHost(address, u); err != nil {
		return err
	}
	return checkPath(address, u.Path)
}

func checkPlain(address string, u *url.URL, hosts []string) error {
	if err := checkWeb(address, u); err != nil {
		return err
	}
	if loopback(u.Hostname()) || slices.Contains(hosts, u.Hostname()) || slices.Contains(hosts, u.Host) {
		return nil
	}
	return refuse(address, "http is not protected, and %q is neither this machine nor a host that you allowed", document.Short(u.Host)).
		With("use https, or name %s among the hosts that may be read over http", u.Host)
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

func checkSSH(address string, u *url.URL) error {
	if u.User != nil && !userName.MatchString(u.User.Username()) {
		return refuse(address, "its user name is not one").With("letters, digits, dots, hyphens and underscores")
	}
	if err := checkHost(address, u); err != nil {
		return err
	}
	return checkPath(address, u.Path)
}

func checkSCP(address string) error {
	m := scpLike.FindStringSubmatch(address)
	if m == nil {
		return refuse(address, "it names neither a scheme nor USER@HOST:PATH").With("write it as %s", wantURL)
	}
	if !userName.MatchString(m[1]) {
		return refuse(address, "its user name is not one").With("letters, digits, dots, hyphens and underscores")
	}
	if !hostName.MatchString(m[2]) {
		return refuse(address, "%q is not a host name", document.Short(m[2]))
	}
	if strings.HasPrefix(m[3], "-") {
		return refuse(address, "its path begins with a hyphen")
	}
	return checkPath(address, "/"+m[3])
}

func checkHost(address string, u *url.URL) error {
	host := u.Hostname()
	if host == "" {
		return refuse(address, "it has no host").With("write it as %s", wantURL)
	}
	if !hostName.MatchString(host) && net.ParseIP(host) == nil {
		return refuse(address, "%q is not a host name", document.Short(host))
	}
	if strings.HasSuffix(u.Host, ":") {
		return refuse(address, "it has a colon without a port")
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 {
			return refuse(address, "%q is not a port", document.Short(p))
		}
	}
	return nil
}

func checkPath(address, p string) error {
	if p == "" || p == "/" {
		return refuse(address, "it names a host and no repository").With("add the repository's path")
	}
	if slices.Contains(strings.Split(p, "/"), "..") {
		return refuse(address, "its path goes up with ..").With("write the path without ..")
	}
	return nil
}

func checkFile(address string, u *url.URL, folders []string) error {
	if u.Host != "" || u.User != nil {
		return refuse(address, "a file has no host").With("write it as file:///PATH")
	}
	if !path.IsAbs(u.Path) || path.Clean(u.Path) != strings.TrimSuffix(u.Path, "/") {
		return refuse(address, "its path is not absolute and clean").With("write it as file://%s", path.Clean("/"+u.Path))
	}
	for _, folder := range folders {
		if inside(path.Clean(u.Path), folder) {
			return nil
		}
	}
	return refuse(address, "no folder that holds it is allowed").
		With("--file-folder of the controller and of its builders, or of mesh dev, names folders that may be read; or serve it over https or ssh")
}

// inside reports whether p is folder or lies in it.
func inside(p, folder string) bool {
	if !path.IsAbs(folder) {
		return false
	}
	folder = path.Clean(folder)
	return p == folder || folder == "/" || strings.HasPrefix(p, folder+"/")
}
