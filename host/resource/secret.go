package resource

import (
	"bytes"
	"context"
	"io"
	"maps"
	"slices"
	"strings"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/host/keep"
	"noxmesh/internal/fault"
)

// Opener opens what is sealed to this node. It is used by several goroutines side by side.
type Opener interface {
	// Open is the value of a secret of a module, and an error where it is not for
	// just that. No error repeats any of it.
	Open(module, name, sealed string) ([]byte, error)
	// Mark is 32 bytes that nobody else has: what files with secrets are known by in
	// the record, in place of their digest.
	Mark() []byte
}

func hasSecrets(r *declaration.Resource) bool {
	return len(r.Secrets) > 0
}

// write writes the bytes of a file that is declared: as they come, or with its
// secrets in their places. Those are in memory for that long.
func (p *pass) write(ctx context.Context, r *declaration.Resource, to io.Writer) error {
	if !hasSecrets(r) {
		return p.source.Body(ctx, r.Digest, r.Size, to)
	}
	content, err := p.filled(ctx, r)
	if err == nil {
		_, err = to.Write(content)
	}
	clear(content)
	return err
}

// know sets what a file with secrets has to be. Where the record has it as declared
// nothing is opened for that.
func (p *pass) know(ctx context.Context, it *item, t *keep.Thing) error {
	e, had := p.record.Entries.Get(it.res.Path)
	if had && e.ID == it.res.ID && e.Phase == keep.Done && keep.Keyed(e.Thing.Digest) && p.record.Done[it.res.ID] == p.digestOf(it) {
		t.Digest, t.Size = e.Thing.Digest, e.Thing.Size
		return nil
	}
	content, err := p.filled(ctx, it.res)
	if err != nil {
		return err
	}
	eye := &p.eyes[0]
	eye.hash.Reset()
	eye.hash.Write(content)
	eye.sum = eye.hash.Sum(eye.sum[:0])
	t.Digest, t.Size = eye.keyed(), int64(len(content))
	clear(content)
	return nil
}

// filled is the bytes of a file with its secrets in their places.
func (p *pass) filled(ctx context.Context, r *declaration.Resource) ([]byte, error) {
	values, err := p.opened(r)
	if err != nil {
		return nil, err
	}
	if r.Size > declaration.InlineLimit {
		return nil, fault.New(fault.Invalid, "its body has %d bytes, at most %d are filled", r.Size, declaration.InlineLimit)
	}
	var body bytes.Buffer
	if err := p.source.Body(ctx, r.Digest, r.Size, &bounded{&body, r.Size}); err != nil {
		return nil, err
	}
	if err := refuseOther(document.Sum(body.Bytes()), r.Digest); err != nil {
		return nil, err
	}
	content, err := declaration.FillTemplate(body.String(), values)
	for _, v := range values {
		clear(v)
	}
	return content, err
}

// opened is the values of a file's secrets.
func (p *pass) opened(r *declaration.Resource) (map[string][]byte, error) {
	if p.opener == nil {
		return nil, fault.New(fault.Conflict, "there are secrets in it, and this machine is no node of a mesh: it has no key that opens them")
	}
	module, _, _ := strings.Cut(r.ID, "/")
	values := make(map[string][]byte, len(r.Secrets))
	for _, name := range slices.Sorted(maps.Keys(r.Secrets)) {
		value, err := p.opener.Open(module, name, r.Secrets[name])
		if err != nil {
			return nil, fault.Wrap(fault.KindOf(err), err, "open the secret %q", name).With("give it anew, where the mesh is: mesh secret set %s %s", module, name)
		}
		values[name] = value
	}
	return values, nil
}

// unfilled says of an item why it cannot be known what it has to be.
func (it *item) unfilled(err error) {
	if fault.KindOf(err) == fault.Unavailable {
		it.fail(err)
	} else {
		it.broken("fill", it.res.Path, err)
	}
}
