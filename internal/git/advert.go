package git

import (
	"bytes"
	"strings"

	"noxmesh/document"
)

// advertised is what a server can do, as it says in the second version of git's protocol.
type advertised struct {
	base   string // the address that answers, which may be another than was asked
	format string // of its object ids; empty where it does not say, which means sha1
	agent  bool
	unborn bool // it says where HEAD leads where that is nowhere yet
}

// parseAdvertised reads the answer to the first request: perhaps the service's
// name and a flush, then the version, what the server can do, and a flush.
func parseAdvertised(p *packets) (a advertised, err error) {
	if err := version2(p); err != nil {
		return a, err
	}
	lists := false
	for {
		next, err := p.next()
		switch {
		case err != nil:
			return a, err
		case next.mark == flush && !lists:
			return a, odd("it lists no refs")
		case next.mark == flush:
			return a, p.end()
		case next.mark != line:
			return a, odd("what it can do is not a list")
		}
		key, value, _ := strings.Cut(string(next.text), "=")
		switch key {
		case "ls-refs":
			lists = true
			a.unborn = strings.Contains(" "+value+" ", " unborn ")
		case "agent":
			a.agent = true
		case "object-format":
			if a.format = value; value != "sha1" && value != "sha256" {
				return a, odd("its ids are of no known kind")
			}
		}
	}
}

// version2 reads what stands before the list, and refuses any other version.
func version2(p *packets) error {
	first, err := p.next()
	if err != nil {
		return err
	}
	if bytes.Equal(first.text, []byte("# service=git-upload-pack")) {
		if next, err := p.next(); err != nil || next.mark != flush {
			return odd("its answer has no version")
		}
		if first, err = p.next(); err != nil {
			return err
		}
	}
	if !bytes.Equal(first.text, []byte("version 2")) {
		return odd("it does not speak version 2 of git's protocol")
	}
	return nil
}

// question is the body of the request for the refs with exactly these names; of
// all refs where there are none.
func (a advertised) question(names []string) []byte {
	b := appendPacket(nil, "command=ls-refs\n")
	if a.agent {
		b = appendPacket(b, "agent=mesh\n")
	}
	if a.format != "" {
		b = appendPacket(b, "object-format="+a.format+"\n")
	}
	b = append(b, "0001"...)
	b = appendPacket(b, "peel\n")
	b = appendPacket(b, "symrefs\n")
	if a.unborn {
		b = appendPacket(b, "unborn\n")
	}
	for _, n := range names {
		if !strings.HasSuffix(n, "^{}") { // what a tag names comes with the tag
			b = appendPacket(b, "ref-prefix "+n+"\n")
		}
	}
	return append(b, "0000"...)
}

// refs reads the answer to it, in the terms of git ls-remote. Where all were
// asked for, one is enough to know that there are any.
func (a advertised) refs(p *packets, names []string) (refs map[string]string, symref string, err error) {
	refs = map[string]string{}
	for {
		next, err := p.next()
		switch {
		case err != nil:
			return nil, "", err
		case next.mark == flush:
			return refs, symref, p.end()
		case next.mark != line:
			return nil, "", odd("its answer is not a list of refs")
		}
		r, ok := a.parseRef(string(next.text))
		switch {
		case !ok:
			return nil, "", odd("its answer is not a list of refs")
		case len(names) == 0 && r.id != "":
			return map[string]string{r.name: r.id}, "", nil
		case r.id == "" || !asked(names, r.name):
			continue // a prefix is also that of longer names
		}
		refs[r.name] = r.id
		if r.peeled != "" {
			refs[r.name+"^{}"] = r.peeled
		}
		if r.name == "HEAD" {
			symref = r.target
		}
	}
}

func asked(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

// listed is one line of the answer; id is empty where the ref leads nowhere yet.
type listed struct{ id, name, target, peeled string }

// parseRef reads "ID NAME" or "unborn NAME", and then what else is said of it.
func (a advertised) parseRef(text string) (r listed, ok bool) {
	id, rest, ok := strings.Cut(text, " ")
	r.name, rest, _ = strings.Cut(rest, " ")
	if !ok || r.name == "" {
		return r, false
	}
	if id != "unborn" {
		if !a.isID(id) {
			return r, false
		}
		r.id = id
	}
	for rest != "" {
		var what string
		what, rest, _ = strings.Cut(rest, " ")
		if target, is := strings.CutPrefix(what, "symref-target:"); is {
			r.target = target
		}
		if peeled, is := strings.CutPrefix(what, "peeled:"); is {
			if r.peeled = peeled; !a.isID(peeled) {
				return r, false
			}
		}
	}
	return r, true
}

// isID reports whether id is a whole one of the kind that the server has.
func (a advertised) isID(id string) bool {
	want := 40
	if a.format == "sha256" {
		want = 64
	}
	return len(id) == want && document.IsObjectID(id)
}
