package lock

import (
	"bytes"
	"net/url"
	"strings"
	"testing"

	"noxmesh/document/documenttest"
)

// fuzz gives any content to a decoder: it ends, what it says can be shown, and
// what it names leads nowhere else.
func fuzz(f *testing.F, file string, decode func(t *testing.T, data []byte) []error) {
	f.Helper()
	n := 0
	for _, c := range bad() {
		if strings.HasPrefix(c[0], file) {
			f.Add([]byte(c[1]))
			n++
		}
	}
	if n < 4 {
		f.Fatalf("%d seeds", n)
	}
	for _, s := range documenttest.Hostile() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		done := documenttest.Bounded(t, len(data))
		faults := decode(t, data)
		done()
		for _, err := range faults {
			documenttest.Plain(t, err)
		}
	})
}

// harmless is a part of an address: it does not lead up, and ends nothing.
func harmless(t *testing.T, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if p == "" || strings.Contains("/"+p+"/", "/../") || strings.ContainsAny(p, "?#%\\ \n:") || strings.HasPrefix(p, "/") {
			t.Errorf("%q is named", p)
		}
	}
}

func proves(t *testing.T, hashes ...Hash) {
	t.Helper()
	for _, h := range hashes {
		if len(h.Sum) != 2*h.Form.size() {
			t.Errorf("%s is taken for a hash", h)
		}
	}
}

func FuzzDecodeGo(f *testing.F) {
	f.Add([]byte("a.example/b v1.0.0 h1:" + sum32 + "\n"))
	fuzz(f, "go.sum", func(t *testing.T, data []byte) []error {
		t.Helper()
		all, faults := DecodeGo("go.sum", data)
		for _, m := range all {
			harmless(t, m.Module, m.Version)
			proves(t, append(m.Zip, m.Mod...)...)
		}
		return faults
	})
}

func FuzzDecodeNpm(f *testing.F) {
	f.Add([]byte(npmLock(`"node_modules/a": {"version": "1.0.0", "resolved": "https://a.example/x", "integrity": "sha512-` + sum64 + `"}`)))
	f.Add([]byte(`{"lockfileVersion": ` + strings.Repeat("1", 5000) + `}`))
	f.Add([]byte(npmLock(`"node_modules/a": {"version": "1.0.0", "resolved": "https://me:secret@` + strings.Repeat("a", 5000) + `/x"}`)))
	f.Add([]byte(`{"lockfileVersion": 2, "packages": {"0": {"resolved": "0"}}}`))
	fuzz(f, "package-lock", func(t *testing.T, data []byte) []error {
		t.Helper()
		all, faults := DecodeNpm("package-lock.json", data)
		for _, p := range all {
			harmless(t, p.Name, p.Version)
			proves(t, p.Hashes...)
			if u, err := url.Parse(p.Resolved); p.Resolved != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Contains(u.Path+"/", "/../")) {
				t.Errorf("%q is fetched", p.Resolved)
			}
		}
		return faults
	})
}

func FuzzDecodePython(f *testing.F) {
	f.Add([]byte("a==1 \\\n --hash=sha256:" + hex32))
	fuzz(f, "requirements", func(t *testing.T, data []byte) []error {
		t.Helper()
		all, faults := DecodePython("requirements.txt", data)
		for _, p := range all {
			harmless(t, p.Project)
			proves(t, p.Hashes...)
			if strings.ToLower(p.Project) != p.Project || strings.ContainsAny(p.Project, "_./") {
				t.Errorf("%q is no name as indexes have it", p.Project)
			}
		}
		return faults
	})
}

func FuzzDecodeCargo(f *testing.F) {
	fuzz(f, "Cargo", func(t *testing.T, data []byte) []error {
		t.Helper()
		all, faults := DecodeCargo("Cargo.lock", data)
		for _, c := range all {
			harmless(t, c.Name, c.Version)
			proves(t, c.Hash)
		}
		return faults
	})
}

// FuzzCheck: whatever comes in place of a file is refused, or is the file.
func FuzzCheck(f *testing.F) {
	for _, s := range [][]byte{nil, []byte("PK"), []byte("module a\n")} {
		f.Add(s)
	}
	want := []Hash{{SHA256, hex32}, {SHA512, hex64}, {Zip1, hex32}, {Mod1, hex32}}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := Check(want, bytes.NewReader(data), int64(len(data)))
		if err != nil {
			documenttest.Plain(t, err)
		}
		if err == nil && len(data) > 0 && !bytes.HasPrefix(data, []byte("PK")) {
			t.Errorf("%q is taken", data)
		}
	})
}
