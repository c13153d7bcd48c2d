package documenttest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"noxmesh/internal/fault"
)

// heard is a test that is told something.
type heard struct{ said []string }

func (h *heard) Helper() {}

func (h *heard) Errorf(format string, args ...any) {
	h.said = append(h.said, fmt.Sprintf(format, args...))
}

func TestADecoderThatBreaksALawIsFound(t *testing.T) {
	t.Parallel()
	says := func(err error) func([]byte) (string, error) {
		return func([]byte) (string, error) { return "", err }
	}
	for name, c := range map[string]struct {
		decode func([]byte) (string, error)
		encode func(string) ([]byte, error)
		want   string
	}{
		"sound":         {func(b []byte) (string, error) { return string(b), nil }, func(s string) ([]byte, error) { return []byte(s), nil }, ""},
		"says it":       {says(fault.New(fault.Invalid, "no")), nil, ""},
		"kind":          {says(errors.New("no")), nil, "an error of kind unknown"},
		"escape":        {says(fault.New(fault.Invalid, "\x1b[2J")), nil, "a terminal obeys"},
		"not UTF-8":     {says(fault.New(fault.Invalid, "\xff")), nil, "a terminal obeys"},
		"hint":          {says(fault.New(fault.Invalid, "no").With("\u202e")), nil, "a terminal obeys"},
		"long line":     {says(fault.New(fault.Invalid, "%s", strings.Repeat("x", 3000))), nil, "a line of 3000 bytes"},
		"many lines":    {says(fault.New(fault.Invalid, "%s", strings.Repeat("x\n", 100))), nil, "100 lines"},
		"not written":   {says(nil), func(string) ([]byte, error) { return nil, errors.New("no") }, "is not written"},
		"another again": {func(b []byte) (string, error) { return string(b) + "x", nil }, func(s string) ([]byte, error) { return []byte(s), nil }, "written once and twice"},
		"not taken": {func(b []byte) (string, error) {
			if len(b) > 2 {
				return "", fault.New(fault.Invalid, "long")
			}
			return string(b), nil
		}, func(s string) ([]byte, error) { return []byte(s + "xx"), nil }, "it does not take"},
	} {
		var h heard
		check(&h, Codec[string]{Decode: c.decode, Encode: c.encode}, []byte("in"))
		if got := strings.Join(h.said, "\n"); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
