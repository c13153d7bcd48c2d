package link

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	mesh "noxmesh"
	"noxmesh/internal/fault"
)

// What the design gives each side, written out: the table must amount to it.
func TestPermissionsAreThese(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		side               Side
		id                 string
		publish, subscribe []string
	}{
		{Nodes, "n7f3kn7f3k", []string{"hello.n7f3kn7f3k", "report.n7f3kn7f3k"}, []string{"decl.n7f3kn7f3k", "_INBOX.n7f3kn7f3k.>"}},
		{Builders, "b7f3kb7f3k", []string{"work.b7f3kb7f3k", "working.b7f3kb7f3k", "answer.b7f3kb7f3k"}, []string{"_INBOX.b7f3kb7f3k.>"}},
		{Nodes, Anyone, []string{"hello.{{name()}}", "report.{{name()}}"}, []string{"decl.{{name()}}", "_INBOX.{{name()}}.>"}},
		{Mesh, "", []string{"decl.*"}, []string{"hello.*", "report.*", "work.*", "working.*", "answer.*"}},
		{"SYS", "n7f3kn7f3k", nil, nil},
		{Nodes, "*", nil, nil},
		{Nodes, ">", nil, nil},
		{Nodes, "", nil, nil},
		{Builders, "a.b", nil, nil},
	} {
		publish, subscribe := Permissions(c.side, c.id)
		if !slices.Equal(publish, c.publish) || !slices.Equal(subscribe, c.subscribe) {
			t.Errorf("%s %q may publish %v and subscribe to %v", c.side, c.id, publish, subscribe)
		}
	}
}

func TestEveryVerbStandsInTheTableOnce(t *testing.T) {
	t.Parallel()
	seen := map[Verb]bool{}
	for _, r := range Subjects() {
		if seen[r.Verb] {
			t.Errorf("%q stands twice", r.Verb)
		}
		seen[r.Verb] = true
		if (r.From == Mesh) == (r.To == Mesh) || r.Push != (r.From == Mesh) || r.Far() == Mesh {
			t.Errorf("%+v does not join the mesh to one other side", r)
		}
	}
	for _, v := range []Verb{VerbHello, VerbReport, VerbDecl, VerbWork, VerbWorking, VerbAnswer} {
		if !seen[v] {
			t.Errorf("%q is missing", v)
		}
	}
}

// A subject and its two parts are the same thing, and no id makes a pattern.
func TestSubjectAndFromAreInverse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		row := rapid.SampledFrom(Subjects()).Draw(t, "row")
		id := rapid.OneOf(rapid.StringMatching(`[a-z0-9]{8,32}`), rapid.StringMatching(`[a-z0-9.*> {}()\n]{0,33}`), rapid.String()).Draw(t, "id")
		subject, err := Subject(row.Verb, id)
		if (err == nil) != mesh.ValidID(id) {
			t.Fatalf("%q: %v", id, err)
		}
		if err != nil {
			if _, _, err := From(string(row.Verb) + "." + id); fault.KindOf(err) != fault.Denied {
				t.Fatalf("read what cannot be written: %v", err)
			}
			return
		}
		if strings.ContainsAny(subject, "*> \t\r\n") || strings.Count(subject, ".") != 1 {
			t.Fatalf("%q is a pattern", subject)
		}
		verb, from, err := From(subject)
		if err != nil || verb != row.Verb || from != id {
			t.Fatalf("%q is read as %q %q: %v", subject, verb, from, err)
		}
		if err := Agree(subject, row.Verb, id); err != nil {
			t.Fatal(err)
		}
		if fault.KindOf(Agree(subject, row.Verb, id+"x")) != fault.Denied || fault.KindOf(Agree(subject, "other", id)) != fault.Denied {
			t.Fatal("agrees with another")
		}
	})
}

// Two users share no subject, whatever their sides and ids.
func TestNobodySharesASubject(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sides := rapid.SampledFrom([]Side{Nodes, Builders})
		ids := rapid.StringMatching(`[a-z0-9]{8,32}`)
		s1, s2, a, b := sides.Draw(t, "side"), sides.Draw(t, "other side"), ids.Draw(t, "id"), ids.Draw(t, "other id")
		if a == b {
			t.Skip("the same")
		}
		p1, l1 := Permissions(s1, a)
		p2, l2 := Permissions(s2, b)
		for _, mine := range append(p1, l1...) {
			if slices.Contains(append(p2, l2...), mine) {
				t.Fatalf("%q is shared", mine)
			}
		}
	})
}

func TestUnknownVerbsAreOurBug(t *testing.T) {
	t.Parallel()
	if _, err := Subject("helo", "n7f3kn7f3k"); fault.KindOf(err) != fault.Broken {
		t.Error(err)
	}
	if _, err := Every(">"); fault.KindOf(err) != fault.Broken {
		t.Error(err)
	}
	for _, s := range []string{"", "hello", "hello.", ".n7f3kn7f3k", "hello.n7f3kn7f3k.x", "HELLO.n7f3kn7f3k", "_INBOX.n7f3kn7f3k", "hello.*"} {
		if _, _, err := From(s); fault.KindOf(err) != fault.Denied {
			t.Errorf("%q: %v", s, err)
		}
	}
}
