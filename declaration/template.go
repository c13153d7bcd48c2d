package declaration

import (
	"strings"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

// Piece is a part of the body of a file that has secrets: text that stays, or the
// name of a secret whose value comes there.
type Piece struct {
	Text   string
	Secret string // empty for text
}

// The body of a file that has secrets. It is not what stands in a manifest: every
// dollar of the text is doubled in it, whatever comes behind, so that no text can
// be taken for the name of a secret, wherever it came from and whatever it is put
// together with.
const (
	secretBegins = "${secret."
	secretEnds   = "}"
)

// JoinTemplate is the pieces as the body of a file that has secrets.
func JoinTemplate(pieces []Piece) string {
	var b strings.Builder
	for _, p := range pieces {
		if p.Secret != "" {
			b.WriteString(secretBegins + p.Secret + secretEnds)
			continue
		}
		b.WriteString(strings.ReplaceAll(p.Text, "$", "$$"))
	}
	return b.String()
}

// CutTemplate takes the body of a file that has secrets apart. Two pieces of text
// never follow one another, and none is empty.
func CutTemplate(body string) ([]Piece, error) {
	var out []Piece
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			out = append(out, Piece{Text: text.String()})
			text.Reset()
		}
	}
	for {
		before, rest, more := strings.Cut(body, "$")
		text.WriteString(before)
		if !more {
			flush()
			return out, nil
		}
		if strings.HasPrefix(rest, "$") {
			text.WriteByte('$')
			body = rest[1:]
			continue
		}
		name, after, closed := strings.Cut(strings.TrimPrefix("$"+rest, secretBegins), secretEnds)
		if !closed || !strings.HasPrefix("$"+rest, secretBegins) || !ValidSecretName(name) {
			return nil, fault.New(fault.Invalid, "its body has a dollar that is neither two nor the place of a secret, at %q", document.Short("$"+rest)).
				With("want $$ for a dollar, or ${secret.NAME}")
		}
		flush()
		out = append(out, Piece{Secret: name})
		body = after
	}
}

// FillTemplate is the body of a file with the values of its secrets in their places.
func FillTemplate(body string, values map[string][]byte) ([]byte, error) {
	pieces, err := CutTemplate(body)
	if err != nil {
		return nil, err
	}
	size := 0
	for _, p := range pieces {
		value, has := values[p.Secret]
		if p.Secret != "" && !has {
			return nil, fault.New(fault.Invalid, "its body has the secret %q in it, which is not declared with it", p.Secret)
		}
		if size += len(p.Text) + len(value); size > FilledLimit {
			return nil, fault.New(fault.Invalid, "with its secrets it would have more than %d bytes", FilledLimit)
		}
	}
	out := make([]byte, 0, size)
	for _, p := range pieces {
		out = append(append(out, p.Text...), values[p.Secret]...)
	}
	return out, nil
}
