package host

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/link"
)

// later is a declaration as a later version might write it: changed is its values.
func later(t testing.TB, d declaration.Declaration, change func(whole, body map[string]any)) (link.Envelope, declaration.Tuple) {
	t.Helper()
	text, err := d.Encode()
	must(t, err)
	whole, err := document.Part[map[string]any](text)
	must(t, err)
	body, ok := whole["body"].(map[string]any)
	if !ok {
		t.Fatalf("%T", whole["body"])
	}
	whole["epoch"], whole["generation"], whole["format"] = d.Epoch, d.Generation, d.Format
	for _, r := range body["resources"].([]any) {
		r.(map[string]any)["size"] = int64(r.(map[string]any)["size"].(float64))
	}
	change(whole, body)
	e, err := link.Seal(key(t, 2), link.TypeDeclaration, whole)
	must(t, err)
	digest, err := document.CanonicalDigest(map[string]any{"node": d.Node, "body": body})
	must(t, err)
	return e, declaration.Tuple{Epoch: d.Epoch, Generation: d.Generation, Digest: digest}
}

// What a later version declares is refused as a whole: which it was is said, and what
// of it this version does not take, in as many words as a message has room for. The
// next version is not held to it.
func TestWhatALaterVersionDeclaresIsRefusedAsAWhole(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(whole, body map[string]any)
		says   string
	}{
		"a type": {func(_, body map[string]any) {
			body["resources"] = append(body["resources"].([]any), map[string]any{"id": "m/p", "type": "portal", "name": "x"})
		}, `body.resources[2].type: "portal" is not a type that this host knows`},
		"a key of a resource": {func(_, body map[string]any) { body["resources"].([]any)[1].(map[string]any)["cheese"] = "x" }, `body.resources[1].cheese: unknown key "cheese"`},
		"a key of the body":   {func(_, body map[string]any) { body["cheese"] = []string{"x"} }, `body.cheese: unknown key "cheese"`},
		"a key beside it":     {func(whole, _ map[string]any) { whole["cheese"] = map[string]any{} }, `cheese: unknown key "cheese"`},
		"a format":            {func(whole, _ map[string]any) { whole["format"] = 2 }, `format 2`},
		"very much": {func(_, body map[string]any) {
			for i := range 500 {
				body["resources"] = append(body["resources"].([]any), map[string]any{"id": fmt.Sprintf("m/p%d", i), "type": strings.Repeat("portal", 20), "name": "x"})
			}
		}, "; and "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, mesh *controller, root string) {
				held := declared(mesh, 5, "/a", "held")
				mesh.declare(held)
				accepted, err := held.Tuple()
				must(t, err)
				s := begin(t, root, mesh)
				time.Sleep(time.Second)
				e, tuple := later(t, declared(mesh, 6, "/a", "later", "/b", "later"), c.change)
				s.pushed(e)
				time.Sleep(time.Second)
				synctest.Wait()
				h := mesh.lastHello()
				if h.Accepted != accepted || h.Refused == nil {
					t.Fatalf("accepted %+v, refused %+v", h.Accepted, h.Refused)
				}
				if got := (declaration.Tuple{Epoch: h.Refused.Epoch, Generation: h.Refused.Generation, Digest: h.Refused.Digest}); got != tuple {
					t.Errorf("it has refused %+v, and was sent %+v", got, tuple)
				}
				if why := h.Refused.Why; !declaration.IsUnknown(why) || !strings.Contains(why, c.says) || len(why) > 2<<10 || strings.Contains(why, "\n") {
					t.Errorf("%d bytes: %s", len(why), why)
				}
				s.is("/a", "held")
				s.is("/b", "")
				s.stop()
				mesh.changed <- struct{}{}
				s = begin(t, root, mesh)
				defer s.stop()
				time.Sleep(time.Second)
				synctest.Wait()
				if h := mesh.lastHello(); h.Refused != nil || h.Accepted != accepted {
					t.Errorf("another version that is started says %+v", h)
				}
			})
		})
	}
}
