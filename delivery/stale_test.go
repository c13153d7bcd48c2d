package delivery_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"noxmesh/delivery"
	"noxmesh/delivery/artifact"
	"noxmesh/delivery/source"
	"noxmesh/document"
	"noxmesh/manifest"
)

func input(module, text string) manifest.Input {
	return manifest.Input{Module: module, Artifact: "go", Digest: document.Sum([]byte(text))}
}

func madeOf(sequence int64, tree, platform string, gone bool, in ...manifest.Input) artifact.Build {
	return artifact.Build{
		ID: document.Sum(fmt.Append(nil, sequence)), Sequence: sequence, Gone: gone,
		Manifest: manifest.Built{Built: manifest.Provenance{Tree: tree, Platform: platform, Closure: append([]manifest.Input{}, in...)}},
	}
}

func madeIn(sequence int64, image string) artifact.Build {
	b := madeOf(sequence, "new", "linux/amd64", false)
	b.Manifest.Built.Environment = document.Sum([]byte(image))
	return b
}

func reasons(all []delivery.Reason) string {
	var words []string
	for _, r := range all {
		words = append(words, strings.TrimSpace(fmt.Sprintf("%s %s %s→%s", r.Cause, r.Module, short(r.From), short(r.To))))
	}
	return strings.Join(words, ", ")
}

// short is a digest as what it is of, where the test knows that.
func short(digest string) string {
	for _, text := range []string{"1", "2", "3"} {
		if digest == string(document.Sum([]byte(text))) {
			return text
		}
	}
	return digest
}

func TestStaleSaysWhy(t *testing.T) {
	t.Parallel()
	const linux = "linux/amd64"
	lacks := []delivery.Waiting{{For: "the build of core", Since: time.Unix(1, 0)}}
	for _, c := range []struct {
		name   string
		inputs delivery.Inputs
		builds []artifact.Build
		want   string
	}{
		{"never built", delivery.Inputs{}, nil, "never-built  →new"},
		{"current", delivery.Inputs{}, []artifact.Build{madeOf(1, "new", linux, false)}, ""},
		{"an older one is current", delivery.Inputs{}, []artifact.Build{madeOf(1, "new", linux, false), madeOf(2, "old", linux, false)}, ""},
		{"its tree", delivery.Inputs{}, []artifact.Build{madeOf(1, "old", linux, false)}, "tree  old→new"},
		{"its platform", delivery.Inputs{}, []artifact.Build{madeOf(1, "new", "linux/arm64", false)}, "platform  linux/arm64→linux/amd64"},
		{"gone", delivery.Inputs{}, []artifact.Build{madeOf(3, "new", linux, true), madeOf(4, "old", linux, false)}, "gone  " + string(document.Sum([]byte("3"))) + "→"},
		{
			"inputs",
			delivery.Inputs{All: []manifest.Input{input("core", "2"), input("lib", "1"), input("more", "3")}},
			[]artifact.Build{madeOf(1, "new", linux, false, input("core", "1"), input("left", "2"), input("lib", "1"))},
			"input core 1→2, input left 2→, input more →3",
		},
		{"its image", delivery.Inputs{Environment: document.Sum([]byte("2"))}, []artifact.Build{madeIn(1, "1")}, "environment  1→2"},
		{"no image any more", delivery.Inputs{}, []artifact.Build{madeIn(1, "1")}, "environment  1→"},
		{"the same image", delivery.Inputs{Environment: document.Sum([]byte("1"))}, []artifact.Build{madeIn(1, "1")}, ""},
		{"its image is away", delivery.Inputs{Environment: document.Sum([]byte("1")), Away: &lacks[0]}, []artifact.Build{madeIn(1, "1")}, ""},
		{"it is not known yet", delivery.Inputs{Lacks: lacks}, []artifact.Build{madeOf(1, "new", linux, false, input("core", "1"))}, ""},
		{"only its tree is known", delivery.Inputs{Lacks: lacks}, []artifact.Build{madeOf(1, "old", linux, true, input("core", "1"))}, "tree  old→new"},
	} {
		f := delivery.Facts{Module: "m", Source: source.Source{Commit: "c", Tree: "new", State: source.Read}, Platform: linux, Inputs: c.inputs, Builds: c.builds}
		got := reasons(delivery.Stale(f))
		if c.name == "gone" {
			got = strings.Replace(got, "3→", string(document.Sum([]byte("3")))+"→", 1)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := delivery.Stale(delivery.Facts{Builds: []artifact.Build{madeOf(1, "old", linux, false)}}); got != nil {
		t.Errorf("its source was never read: %+v", got)
	}
}

// Where everything is known, there is a reason just where no build that is there
// was made of all that is so now; and the reasons are what differs.
func TestStaleAgainstAModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		closure := func(what string) (string, string, []manifest.Input) {
			var in []manifest.Input
			for _, module := range []string{"a", "b"} {
				if text := rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, what+" "+module); text != "" {
					in = append(in, input(module, text))
				}
			}
			return rapid.SampledFrom([]string{"t1", "t2"}).Draw(t, what+" tree"), rapid.SampledFrom([]string{"p1", "p2"}).Draw(t, what+" platform"), in
		}
		tree, platform, in := closure("now")
		f := delivery.Facts{Source: source.Source{Commit: "c", Tree: tree, State: source.Read}, Platform: platform, Inputs: delivery.Inputs{All: in}}
		current := false
		var last artifact.Build
		for i := range rapid.IntRange(0, 4).Draw(t, "builds") {
			tree, platform, in := closure(fmt.Sprint(i))
			last = madeOf(int64(i+1), tree, platform, rapid.Bool().Draw(t, "gone"), in...)
			f.Builds = append(f.Builds, last)
			same := tree == f.Source.Tree && platform == f.Platform && slices.Equal(in, f.Inputs.All)
			current = current || same && !last.Gone
		}
		got := delivery.Stale(f)
		if current != (len(got) == 0) {
			t.Fatalf("current is %v, and the reasons are %+v", current, got)
		}
		if len(got) == 0 || got[0].Cause == delivery.NeverBuilt || got[0].Cause == delivery.ArtifactGone {
			return
		}
		now := last.Manifest.Built // what was made, with each difference made good
		for _, r := range got {
			switch r.Cause {
			case delivery.TreeMoved:
				now.Tree = r.To
			case delivery.PlatformMoved:
				now.Platform = r.To
			default:
				now.Closure = slices.DeleteFunc(slices.Clone(now.Closure), func(i manifest.Input) bool { return i.Module == r.Module })
				if r.To != "" {
					now.Closure = append(now.Closure, manifest.Input{Module: r.Module, Artifact: r.Artifact, Digest: document.Digest(r.To)})
				}
			}
		}
		slices.SortFunc(now.Closure, manifest.Input.Compare)
		if now.Tree != tree || now.Platform != platform || !slices.Equal(now.Closure, in) {
			t.Fatalf("with the reasons %+v made good it is %+v", got, now)
		}
	})
}
