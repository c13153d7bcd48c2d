package declaration

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

const (
	// SealedLimit is how long a sealed value may be, as it is written.
	SealedLimit = 128 << 10
	// FilledLimit is how long a file may be with the values of its secrets in it.
	FilledLimit = 1 << 20
)

// ValidSecretName reports whether this is the name of a secret, which is spelled as
// that of a setting is.
func ValidSecretName(name string) bool {
	const most = 63
	for i, c := range []byte(name) {
		inner := i > 0 && i < len(name)-1
		switch {
		case c >= 'a' && c <= 'z', i > 0 && c >= '0' && c <= '9', inner && (c == '-' || c == '_'):
		default:
			return false
		}
	}
	return name != "" && len(name) <= most
}

// isBase64 reports whether it is spelled as base64 is.
func isBase64(text string) bool {
	text = strings.TrimSuffix(strings.TrimSuffix(text, "="), "=")
	return text != "" && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") == ""
}

// ValidSealed reports whether this has the form of a sealed value.
func ValidSealed(text string) bool { return len(text) <= SealedLimit && isBase64(text) }

// SecretModeFlaw is what is wrong with the mode of a file that has secrets: that
// everybody could read it, or what is more. False where nothing is.
func SecretModeFlaw(mode string) (Flaw, bool) {
	if mode == "" || strings.HasSuffix(mode, "0") {
		return Flaw{}, false
	}
	want := "want one that gives nothing to others, as 0640"
	if len(mode) == 4 {
		want = "want " + mode[:3] + "0; with an owner or a group it can be read by whoever needs it"
	}
	return Flaw{"mode", want, quoted(mode) + " gives something to everybody, and there are secrets in the file"}, true
}

// secretFlaws is what is wrong with the names and the form of sealed values.
func secretFlaws(all map[string]string) (f flaws) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		key, sealed := document.Join("secrets", name), all[name]
		switch {
		case !ValidSecretName(name):
			f.add(key, "want lower-case letters, digits, inner hyphens and underscores, a letter first, at most 63", "is not the name of a secret", name)
		case len(sealed) > SealedLimit:
			f = append(f, Flaw{key, "want at most " + strconv.Itoa(SealedLimit), number(int64(len(sealed))) + " bytes"})
		case !isBase64(sealed):
			f = append(f, Flaw{key, "want it in base64", "it is no sealed value"})
		}
	}
	return f
}

// template checks that the body of a file with secrets names just those.
func (c *checker) template(at string, r Resource, body string) {
	secrets := r.Secrets
	if len(secrets) == 0 {
		return
	}
	pieces, err := CutTemplate(body)
	if err != nil {
		c.Fault(at+".digest", fault.HintOf(err), "%s", err)
		return
	}
	named := map[string]bool{}
	for _, p := range pieces {
		named[p.Secret] = true
		if _, has := secrets[p.Secret]; p.Secret != "" && !has {
			c.Fault(at+".secrets", "add it", "its body has the secret %q in it", document.Short(p.Secret))
			return
		}
	}
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		if !named[name] {
			c.Fault(document.Join(at+".secrets", name), "take it out", "its body has no such secret in it")
		}
	}
}
