package identity

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strings"

	mesh "noxmesh"
	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/link"
)

// A token begins with what it is for, so that a person sees which one is in hand.
const (
	joinPrefix  = "mesh-join-1."
	loginPrefix = "mesh-login-1."
	// No token comes near this; what does is another file.
	tokenLimit = 4 << 10
)

// Token lets one node or builder join, once. It pins the mesh: nothing of the
// first contact is trusted but what the token says.
type Token struct {
	URL    string         // of the controller's API: https://host:port
	CA     string         // the SHA-256 of the CA certificate's DER, in hexadecimal digits
	Root   link.PublicKey // signs the key document
	Mesh   string         // the mesh's id
	ID     string         // the token's own id, not that of what joins
	Secret Secret
}

// Login lets a person's program ask and decide.
type Login struct {
	URL    string
	CA     string
	ID     string
	Secret Secret
}

type tokenForm struct {
	URL    string         `json:"url"`
	CA     string         `json:"ca"`
	Root   link.PublicKey `json:"root"`
	Mesh   string         `json:"mesh"`
	ID     string         `json:"id"`
	Secret string         `json:"secret"`
}

type loginForm struct {
	URL    string `json:"url"`
	CA     string `json:"ca"`
	ID     string `json:"id"`
	Secret string `json:"secret"`
}

// Text is the token as a person carries it: one word without spaces.
func (t Token) Text() (string, error) {
	if err := t.check(); err != nil {
		return "", err
	}
	return write(joinPrefix, tokenForm{t.URL, t.CA, t.Root, t.Mesh, t.ID, t.Secret.Reveal()})
}

// ParseToken reads what Text wrote, and says of anything else what it is.
func ParseToken(text string) (Token, error) {
	f, err := read[tokenForm]("join token", joinPrefix, text)
	if err != nil {
		return Token{}, err
	}
	t := Token{f.URL, f.CA, f.Root, f.Mesh, f.ID, SecretFrom(f.Secret)}
	return orNothing(t, t.check())
}

// Text is the login as a person carries it: one word without spaces.
func (l Login) Text() (string, error) {
	if err := l.check(); err != nil {
		return "", err
	}
	return write(loginPrefix, loginForm{l.URL, l.CA, l.ID, l.Secret.Reveal()})
}

// ParseLogin reads what Text wrote, and says of anything else what it is.
func ParseLogin(text string) (Login, error) {
	f, err := read[loginForm]("login", loginPrefix, text)
	if err != nil {
		return Login{}, err
	}
	l := Login{f.URL, f.CA, f.ID, SecretFrom(f.Secret)}
	return orNothing(l, l.check())
}

// String names the token and hides its secret.
func (t Token) String() string { return "join token " + t.ID }

// String names the login and hides its secret.
func (l Login) String() string { return "login " + l.ID }

func (t Token) check() error {
	if err := (Login{t.URL, t.CA, t.ID, t.Secret}).checkAs("join token"); err != nil {
		return err
	}
	if !t.Root.Valid() {
		return wrong("join token", "its root is not a public key")
	}
	if !mesh.ValidID(t.Mesh) {
		return wrong("join token", "its mesh is not an id")
	}
	return nil
}

func (l Login) check() error { return l.checkAs("login") }

func (l Login) checkAs(what string) error {
	if err := checkURL(l.URL); err != nil {
		return wrong(what, "its url "+err.Error())
	}
	if b, err := hex.DecodeString(l.CA); err != nil || len(b) != 32 || strings.ToLower(l.CA) != l.CA {
		return wrong(what, "its ca is not a SHA-256 in hexadecimal digits")
	}
	if !mesh.ValidID(l.ID) {
		return wrong(what, "its id is not an id")
	}
	if b, err := base64.RawURLEncoding.Strict().DecodeString(l.Secret.Reveal()); err != nil || len(b) != secretBytes {
		return wrong(what, "its secret has not the length that secrets have")
	}
	return nil
}

// checkURL is text that completes "its url …".
func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" {
		return fault.New(fault.Invalid, "is not an https address")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Path != "" || "https://"+u.Host != text {
		return fault.New(fault.Invalid, "is more than https://host:port")
	}
	return nil
}

func wrong(what, why string) error {
	return fault.New(fault.Invalid, "%s: %s", what, why).With("copy the whole %s again", what)
}

func orNothing[T any](v T, err error) (T, error) {
	if err != nil {
		var nothing T
		return nothing, err
	}
	return v, nil
}

func write(prefix string, form any) (string, error) {
	b, err := document.Canonical(form)
	if err != nil {
		return "", err
	}
	return prefix + base64.RawURLEncoding.EncodeToString(b), nil
}

// read takes the word apart. No error repeats any of it: it may hold a secret.
func read[T any](what, prefix, text string) (T, error) {
	var nothing T
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return nothing, fault.New(fault.Invalid, "%s: nothing is there", what).With("it begins with %s", prefix)
	case len(text) > tokenLimit:
		return nothing, fault.New(fault.Invalid, "%s: %d characters, no %s is longer than %d", what, len(text), what, tokenLimit).
			With("copy the one word that begins with %s", prefix)
	case strings.ContainsAny(text, " \t\r\n"):
		return nothing, fault.New(fault.Invalid, "%s: there is white space inside", what).
			With("it is one word; a terminal may have broken it into lines")
	case !strings.HasPrefix(text, prefix):
		return nothing, other(what, prefix, text)
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(strings.TrimPrefix(text, prefix))
	if err != nil {
		return nothing, broken(what)
	}
	v, err := document.Decode[T](what, b, document.Limits{Bytes: tokenLimit, Depth: 2})
	if err != nil {
		return nothing, broken(what)
	}
	again, err := document.Canonical(v)
	if err != nil || string(again) != string(b) {
		return nothing, broken(what)
	}
	return v, nil
}

func broken(what string) error {
	return fault.New(fault.Invalid, "%s: it is not whole, or was changed", what).
		With("copy it again, from the first character to the last")
}

// other says which word was given instead.
func other(what, prefix, text string) error {
	e := fault.New(fault.Invalid, "%s: it does not begin with %s", what, prefix)
	switch {
	case strings.HasPrefix(text, joinPrefix):
		return fault.New(fault.Invalid, "%s: this is a join token", what).With("a join token is for mesh-host join and mesh-builder join")
	case strings.HasPrefix(text, loginPrefix):
		return fault.New(fault.Invalid, "%s: this is a login", what).With("a login is for the mesh command; mesh node add prints a join token")
	case strings.HasPrefix(text, "mesh-join-") || strings.HasPrefix(text, "mesh-login-"):
		return fault.New(fault.Invalid, "%s: it is of a form that this program does not know", what).With("install a newer version of this program")
	case strings.HasPrefix(prefix, text):
		return broken(what)
	}
	return e.With("copy the whole word that mesh printed")
}
