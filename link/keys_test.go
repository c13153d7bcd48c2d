package link

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"noxmesh/internal/fault"
)

func TestKeyDocumentFollows(t *testing.T) {
	t.Parallel()
	root, declare, next := mustKey(t, nil), mustKey(t, nil).Public(), mustKey(t, nil).Public()
	doc := func(change func(*Keys)) Keys {
		k := Keys{Format: 1, Mesh: "meshmesh", Version: 3, Declare: []PublicKey{declare}}
		change(&k)
		return k
	}
	same := func(*Keys) {}
	held := doc(same)
	for name, c := range map[string]struct {
		held   Keys
		change func(*Keys)
		want   fault.Kind // Unknown: accepted
	}{
		"the first":                  {Keys{}, same, fault.Unknown},
		"the first of this mesh":     {Keys{Mesh: "meshmesh"}, same, fault.Unknown},
		"the first of another mesh":  {Keys{Mesh: "another1"}, same, fault.Denied},
		"the same again":             {held, same, fault.Unknown},
		"the next":                   {held, func(k *Keys) { k.Version, k.Declare = 4, []PublicKey{next} }, fault.Unknown},
		"far ahead":                  {held, func(k *Keys) { k.Version = 1 << 50 }, fault.Unknown},
		"an older one":               {held, func(k *Keys) { k.Version = 2 }, fault.Denied},
		"the same, other keys":       {held, func(k *Keys) { k.Declare = []PublicKey{next} }, fault.Denied},
		"the same, one key more":     {held, func(k *Keys) { k.Declare = append(k.Declare, next) }, fault.Denied},
		"another mesh":               {held, func(k *Keys) { k.Mesh, k.Version = "another1", 4 }, fault.Denied},
		"no mesh":                    {Keys{}, func(k *Keys) { k.Mesh = "" }, fault.Invalid},
		"a format of tomorrow":       {held, func(k *Keys) { k.Format, k.Version = 2, 4 }, fault.Invalid},
		"no format":                  {held, func(k *Keys) { k.Format, k.Version = 0, 4 }, fault.Invalid},
		"version nought":             {Keys{}, func(k *Keys) { k.Version = 0 }, fault.Invalid},
		"no key":                     {held, func(k *Keys) { k.Version, k.Declare = 4, nil }, fault.Invalid},
		"a key twice":                {held, func(k *Keys) { k.Version, k.Declare = 4, []PublicKey{next, next} }, fault.Invalid},
		"what is no key":             {held, func(k *Keys) { k.Version, k.Declare = 4, []PublicKey{"key"} }, fault.Invalid},
		"more keys than controllers": {held, func(k *Keys) { k.Version, k.Declare = 4, manyKeys(t, 17) }, fault.Invalid},
	} {
		env := mustSeal(t, root, TypeKeys, doc(c.change))
		got, err := VerifyKeys(env, root.Public(), c.held)
		if kind := fault.KindOf(err); kind != c.want || (err == nil) != (c.want == fault.Unknown) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && (got.Version != 0 || got.Declare != nil) {
			t.Errorf("%s: refused, and returned all the same", name)
		}
	}
}

func TestKeyDocumentIsTheRootsAlone(t *testing.T) {
	t.Parallel()
	root, declare := mustKey(t, nil), mustKey(t, nil)
	k := Keys{Format: 1, Mesh: "meshmesh", Version: 1, Declare: []PublicKey{declare.Public()}}
	// A declare key does not name its own successor.
	env := mustSeal(t, declare, TypeKeys, k)
	if _, err := VerifyKeys(env, root.Public(), k); fault.KindOf(err) != fault.Denied {
		t.Errorf("signed by a declare key: %v", err)
	}
	env = mustSeal(t, root, TypeDeclaration, k)
	if _, err := VerifyKeys(env, root.Public(), k); fault.KindOf(err) != fault.Denied {
		t.Errorf("signed as something else: %v", err)
	}
	env = mustSeal(t, root, TypeKeys, map[string]any{"format": 1, "mesh": "meshmesh", "version": 1, "declare": []PublicKey{declare.Public()}, "more": true})
	if _, err := VerifyKeys(env, root.Public(), Keys{}); fault.KindOf(err) != fault.Invalid {
		t.Errorf("with a key that nobody knows: %v", err)
	}
}

// Whatever comes in whatever order: the version that is held never goes down,
// and no version ever means two things.
func TestHeldKeysNeverGoBack(t *testing.T) {
	t.Parallel()
	root := mustKey(t, nil)
	pool := manyKeys(t, 3)
	rapid.Check(t, func(t *rapid.T) {
		held, seen := Keys{}, map[int64]string{}
		for range rapid.IntRange(1, 20).Draw(t, "documents") {
			next := Keys{
				Format: 1, Mesh: "meshmesh", Version: rapid.Int64Range(1, 5).Draw(t, "version"),
				Declare: []PublicKey{rapid.SampledFrom(pool).Draw(t, "key")},
			}
			env, err := Seal(root, TypeKeys, next)
			if err != nil {
				t.Fatal(err)
			}
			got, err := VerifyKeys(env, root.Public(), held)
			if err != nil {
				continue
			}
			if got.Version < held.Version {
				t.Fatalf("went from %d to %d", held.Version, got.Version)
			}
			content := fmt.Sprint(got.Declare)
			if before, ok := seen[got.Version]; ok && before != content {
				t.Fatalf("version %d meant two things", got.Version)
			}
			held, seen[got.Version] = got, content
		}
	})
}

func manyKeys(t *testing.T, n int) []PublicKey {
	t.Helper()
	var keys []PublicKey
	for range n {
		keys = append(keys, mustKey(t, nil).Public())
	}
	return keys
}
