package observe_test

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/host/keep"
	"noxmesh/host/system"
	"noxmesh/internal/invariant"
	"noxmesh/internal/observe"
	"noxmesh/link"
)

// kept is a node whose host has accepted generation 2, and whose record names one file.
func kept(t *testing.T) (root string, change func(func(*keep.Folder))) {
	t.Helper()
	root = t.TempDir()
	change = func(f func(*keep.Folder)) {
		t.Helper()
		sys, err := system.Open(root)
		if err != nil {
			t.Fatal(err)
		}
		defer sys.Close()
		folder, err := keep.Open(sys)
		if err != nil {
			t.Fatal(err)
		}
		defer folder.Close()
		f(folder)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	rootKey, declare := newKey(t), newKey(t)
	keys, err := link.Seal(rootKey, link.TypeKeys, link.Keys{Format: 1, Mesh: "meshmesh", Version: 1, Declare: []link.PublicKey{declare.Public()}})
	must(err)
	must(os.WriteFile(filepath.Join(root, "motd"), []byte("hello"), 0o640))
	change(func(f *keep.Folder) {
		must(f.SaveJoined(keep.Joined{Mesh: "meshmesh", Node: "nodenode", Name: "n", Root: rootKey.Public(), Keys: keys}))
		must(f.SaveAccepted(sealed(t, declare, 2)))
		r := keep.NewRecord()
		r.Entries.Put(keep.Entry{
			Thing: keep.Thing{Path: "/motd", Kind: keep.File, Mode: 0o640, Digest: document.Sum([]byte("hello")), Size: 5}, ID: "m/motd", Origin: keep.Made, Phase: keep.Done,
		})
		must(f.SaveRecord(r))
	})
	return root, change
}

func newKey(t *testing.T) link.Key {
	t.Helper()
	k, err := link.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func sealed(t *testing.T, k link.Key, generation int64) link.Envelope {
	t.Helper()
	e, err := link.Seal(k, link.TypeDeclaration, declaration.Declaration{
		Format: 1, Mesh: "meshmesh", Node: "nodenode", Name: "n", Epoch: 1, Generation: generation,
		Body: declaration.Body{Modules: []declaration.Module{}, Resources: []declaration.Resource{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestANodeIsReadByItsDisk(t *testing.T) {
	t.Parallel()
	root, change := kept(t)
	var nodes observe.Nodes
	look := func(want string) invariant.Node {
		t.Helper()
		n, err := nodes.Look(root)
		if err != nil {
			t.Fatal(err)
		}
		var words []string
		for _, f := range invariant.Always(invariant.Seen{Nodes: []invariant.Node{n}}) {
			words = append(words, f.String())
		}
		if got := strings.Join(words, "\n"); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("found %q, want %q", got, want)
		}
		return n
	}
	n := look("")
	if n.ID != "nodenode" || len(n.History) != 1 || n.History[0].Tuple.Generation != 2 || !n.History[0].Signed || len(n.Things) != 1 {
		t.Errorf("%+v", n)
	}
	if err := os.WriteFile(filepath.Join(root, "motd"), []byte("other"), 0o640); err != nil {
		t.Fatal(err)
	}
	look("I2 " + filepath.Base(root) + ":/motd: the host's record says that it read back")
	change(func(f *keep.Folder) {
		if err := f.SaveAccepted(sealed(t, newKey(t), 1)); err != nil {
			t.Fatal(err)
		}
	})
	look("I5 " + filepath.Base(root) + ": it had accepted 1/2")
	look("which no declare key has signed")
}

// What has been verified once is remembered of just that, and of nothing else.
func TestAProofIsOfWhatItWasMadeOf(t *testing.T) {
	t.Parallel()
	root, change := kept(t)
	var proofs observe.Proofs
	flip := []bool{false, true, false, true, false} // after each look: a bit of the signature
	for _, signed := range []bool{true, true, false, false, true} {
		n, err := proofs.Node(root)
		if err != nil || len(n.History) != 1 || n.History[0].Signed != signed {
			t.Fatalf("%+v (%v), want it signed: %v", n.History, err, signed)
		}
		if flip[0] {
			change(func(f *keep.Folder) {
				e, err := f.Accepted()
				if err != nil {
					t.Fatal(err)
				}
				e.Signatures[0].Sig[0] ^= 1
				if err := f.SaveAccepted(e); err != nil {
					t.Fatal(err)
				}
			})
		}
		flip = flip[1:]
	}
}

func TestANodeThatNobodyHasSetUpHasDoneNothing(t *testing.T) {
	t.Parallel()
	n, err := observe.Node(t.TempDir())
	if err != nil || n.ID != "" || len(n.History) != 0 || len(n.Things) != 0 {
		t.Errorf("%+v (%v)", n, err)
	}
}

func TestASecretIsFoundWhereItLies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	secret := observe.Secret{Name: "password", Bytes: []byte("s3cret of a mesh"), Homes: []string{home}}
	for where, text := range map[string]string{
		"plain": "said s3cret of a mesh to all",
		"hex":   "x" + hex.EncodeToString(secret.Bytes) + "y",
		"0":     base64.StdEncoding.EncodeToString([]byte("abc" + string(secret.Bytes) + "d")),
		"1":     base64.URLEncoding.EncodeToString([]byte("a" + string(secret.Bytes) + "bc")),
		"2":     base64.StdEncoding.EncodeToString([]byte("abcde" + string(secret.Bytes))),
		"far":   strings.Repeat("far", 90<<10) + string(secret.Bytes),
	} {
		if err := os.WriteFile(filepath.Join(dir, where), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		hunt := observe.Seek([]observe.Secret{secret})
		if hunt.Text("here", []byte(text)); len(hunt.Found()[0].Found) != 1 {
			t.Errorf("it is not found in %q", text)
		}
	}
	for _, at := range []string{home, home + ".new"} {
		if err := os.WriteFile(at, secret.Bytes, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	token := observe.Secret{Name: "token", Bytes: []byte("t0ken")}
	hunt := observe.Seek([]observe.Secret{secret, token})
	err := errors.Join(hunt.Folder(dir), hunt.Folder(filepath.Join(dir, "gone")))
	if all := hunt.Found(); err != nil || len(all) != 2 || len(all[0].Found) != 6 || len(all[1].Found) != 0 {
		t.Errorf("%+v (%v)", all, err)
	}
}
