package oci

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strconv"
	"strings"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

// OtherBytes is what every error says that is about bytes which are not those of
// their digest.
const OtherBytes = "the registry gave other bytes than"

// Other is that bytes are not those of their digest.
type Other struct {
	Digest document.Digest
	Why    string
}

// Error says which bytes they are not.
func (o *Other) Error() string { return fmt.Sprintf(OtherBytes+" %s: %s", o.Digest, o.Why) }

// Here is an error of where the bytes go, which no registry is to blame for.
type Here struct{ Err error }

// Error is the writer's own words.
func (h *Here) Error() string { return "write what was pulled: " + h.Err.Error() }

// Unwrap is the writer's error.
func (h *Here) Unwrap() error { return h.Err }

// Transfer is one blob on its way from a registry, which may break off: how much of
// it has come, and what that amounts to. Who is asked, with which credential, how
// patiently, and what a failure asks of whoever meets it are its caller's: of our
// own registry, other bytes are wrong for good; another's may be right next time.
type Transfer struct {
	Digest document.Digest
	Size   int64
	To     io.Writer
	Sum    hash.Hash // of what has come
	Got    int64     // how much that is
}

// NewTransfer is a blob of which nothing has come.
func NewTransfer(digest document.Digest, size int64, to io.Writer) *Transfer {
	return &Transfer{Digest: digest, Size: size, To: to, Sum: sha256.New()}
}

// All takes part after part until everything is there: again where a connection
// has broken that brought something. What was written is not to be used before it
// has returned nil.
func (t *Transfer) All(ctx context.Context, part func() error) error {
	for t.Got < t.Size || t.Got == 0 {
		before := t.Got
		err := part()
		if err == nil {
			break
		}
		_, other := errors.AsType[*Other](err)
		if other || fault.KindOf(err) != fault.Unavailable || t.Got == before || ctx.Err() != nil {
			return err
		}
	}
	if is := document.FromHash(t.Sum.Sum(nil)); is != t.Digest {
		return t.other("what came is %s", is)
	}
	return nil
}

// Missing is the header that asks for what has not come.
func (t *Transfer) Missing() map[string]string {
	if t.Got == 0 {
		return nil
	}
	return map[string]string{"Range": fmt.Sprintf("bytes=%d-", t.Got)}
}

// Take reads an answer until the blob is whole or the connection breaks. Its error
// is an Other, a Here, or one of the way.
func (t *Transfer) Take(resp *http.Response, body io.Reader) error {
	if err := t.align(resp, body); err != nil {
		return err
	}
	want := t.Size - t.Got
	if resp.StatusCode == http.StatusPartialContent && resp.ContentLength >= 0 && resp.ContentLength != want {
		return t.other("it has %d more bytes, not %d", resp.ContentLength, want)
	}
	n, err := io.Copy(io.MultiWriter(t.Sum, &local{t.To}), io.LimitReader(body, want))
	t.Got += n
	switch {
	case err != nil:
		return err
	case t.Got < t.Size:
		return t.other("it ends after %d of %d bytes", t.Got, t.Size)
	}
	// All that was promised is here; where it does not end cleanly is not worth asking for.
	if extra, _ := io.CopyN(io.Discard, body, 1); extra > 0 {
		return t.other("it goes on after %d bytes", t.Size)
	}
	return nil
}

func (t *Transfer) other(why string, args ...any) error {
	return &Other{t.Digest, fmt.Sprintf(why, args...)}
}

// align brings the answer to where the transfer stands, or refuses one that is of another size.
func (t *Transfer) align(resp *http.Response, body io.Reader) error {
	if resp.StatusCode == http.StatusOK {
		if resp.ContentLength >= 0 && resp.ContentLength != t.Size {
			return t.other("it has %d bytes there, not %d", resp.ContentLength, t.Size)
		}
		_, err := io.CopyN(io.Discard, body, t.Got)
		return err
	}
	if start, ok := rangeStart(resp); !ok || start != t.Got {
		return t.other("asked from byte %d it answers with %q", t.Got, document.Short(resp.Header.Get("Content-Range")))
	}
	return nil
}

// rangeStart is the first byte of a partial answer.
func rangeStart(resp *http.Response) (int64, bool) {
	r, ok := strings.CutPrefix(resp.Header.Get("Content-Range"), "bytes ")
	if !ok {
		return 0, false
	}
	first, _, ok := strings.Cut(r, "-")
	n, err := strconv.ParseInt(first, 10, 64)
	return n, ok && err == nil
}

// local marks errors of where the bytes go.
type local struct{ to io.Writer }

// Write passes p on.
func (l *local) Write(p []byte) (int, error) {
	n, err := l.to.Write(p)
	if err != nil {
		return n, &Here{err}
	}
	return n, nil
}
