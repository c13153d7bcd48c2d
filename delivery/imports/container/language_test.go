package container_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"noxmesh/delivery/imports"
	"noxmesh/delivery/imports/container"
)

// read is what one file says: each image with its line, and each fault with its line.
func read(text string) []string {
	found := container.Language{}.Read(imports.Input{
		Platform: "linux/arm64", Files: []imports.File{{Path: "Dockerfile", Text: []byte(text)}},
	})
	var said []string
	for _, i := range found.Imports {
		said = append(said, strings.TrimPrefix(i.At.String(), "Dockerfile:")+" "+i.Name)
	}
	for _, f := range found.Faults {
		said = append(said, strings.TrimPrefix(f.At.String(), "Dockerfile:")+" ! "+f.Why)
	}
	return said
}

const noFROM = "Dockerfile ! has no FROM: a container file builds on an image, or on scratch"

func TestRead(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       []string
	}{
		// names
		{"official", "FROM ubuntu", []string{"1 docker.io/library/ubuntu"}},
		{"tag", "FROM site/base:1.2", []string{"1 docker.io/site/base"}},
		{"digest", "FROM a:1@sha256:" + strings.Repeat("0a", 32), []string{"1 docker.io/library/a"}},
		{"port", "FROM registry.example:5000/a/b:1", []string{"1 registry.example:5000/a/b"}},
		{"localhost", "FROM localhost/a", []string{"1 localhost/a"}},
		{"one image, many ways to write it", "FROM a\nFROM docker.io/a\nFROM docker.io/library/a\nFROM index.docker.io/a", []string{"1 docker.io/library/a"}},
		{"not a name", "FROM a//b", []string{`1 ! "FROM a//b": "a//b" is not the name of an image`}},
		// FROM
		{"in any case, with platform", "from --platform=$BUILDPLATFORM  a\tAs\tB\nFROM b", []string{"1 docker.io/library/a"}},
		{"scratch", "FROM scratch", nil},
		{"a stage's name in another case", "FROM a AS Builder\nFROM BUILDER\nCOPY --from=buildeR x y", []string{"1 docker.io/library/a"}},
		{"a later stage is an image", "FROM b\nFROM a AS b", []string{"2 docker.io/library/a", "1 docker.io/library/b"}},
		{"a stage named as its image", "FROM a AS a\nFROM a", []string{"1 docker.io/library/a"}},
		{"quotes", `FROM "a"`, []string{"1 docker.io/library/a"}},
		{"two words", "FROM a b", []string{"1 ! FROM is followed by an image, or by an image, AS and a name"}},
		{"no words", "FROM", []string{"1 ! FROM is followed by an image, or by an image, AS and a name"}},
		{"a stage that is a number", "FROM a AS 1", []string{"1 docker.io/library/a", `1 ! a stage cannot be named "1": a name begins with a letter and is made of letters, digits, - _ and .`}},
		// --from
		{"copy from an image", "FROM scratch\nCOPY --chown=1 --from=a:1 x y\nADD --from=b x y", []string{"2 docker.io/library/a", "3 docker.io/library/b"}},
		{"copy from a number", "FROM scratch\nFROM scratch\nCOPY --from=0 x y", nil},
		{"copy from no stage", "FROM scratch\nCOPY --from=3 x y", []string{`2 ! --from="3": there are 1 stages, and the first is 0`}},
		{"copy from a later stage", "FROM scratch\nCOPY --from=b x y\nFROM scratch AS b", nil},
		{"copy from scratch", "FROM scratch\nCOPY --from=scratch x y", nil},
		{"no flag", "FROM scratch\nCOPY x --from=a y\nCOPY -- --from=a y\nRUN --from=a x\nENV --from=a x", nil},
		{"a quoted flag", "FROM scratch\nCOPY --from=\"a\" x y\nCOPY --fr\\om='b' x y", []string{"2 docker.io/library/a", "3 docker.io/library/b"}},
		{"mount", "FROM scratch AS s\nRUN --mount=type=bind,from=a,target=/a --mount=FROM=b,target=/b --mount=from=s x", []string{"2 docker.io/library/a", "2 docker.io/library/b"}},
		{"mount, quoted", `FROM scratch
RUN --mount='type=cache,"from=a",target=/a' x
RUN --mount='a"b' x`, []string{"2 docker.io/library/a", `3 ! --mount="a\"b" is not a list with commas: its quotes do not fit`}},
		{"arg of the stage in from", "ARG B=b\nFROM scratch\nARG A=a\nARG B\nENV C $A\nENV D=${C}d\nCOPY --from=$D x y\nCOPY --from=$B x y", []string{"7 docker.io/library/ad", "8 docker.io/library/b"}},
		{"arg before FROM is not one of the stage", "ARG B=b\nFROM scratch\nCOPY --from=$B x y", []string{`3 ! "--from=$B": ARG B has no default: write ARG B=… before the first FROM`}},
		{"onbuild", "FROM scratch\nONBUILD COPY --from=a x y\nONBUILD RUN --mount=from=b x\nONBUILD COPY --from=7 x y", []string{"2 docker.io/library/a", "3 docker.io/library/b"}},
		{"onbuild of what it cannot be", "FROM scratch\nONBUILD FROM a\nONBUILD ONBUILD RUN x\nONBUILD", []string{
			"2 ! ONBUILD cannot be followed by FROM", "3 ! ONBUILD cannot be followed by ONBUILD", `4 ! there is no instruction ""`,
		}},
		// variables
		{"chain", "ARG R=quay.io\nARG O=site N=base I=$R/${O}/$N\nFROM $I:1", []string{"3 quay.io/site/base"}},
		{"defaults", "ARG E=\nARG A=a\nFROM ${N:-n}\nFROM ${E-x}e\nFROM ${E:-f}\nFROM ${A:+g}${E:+x}${N+x}${E+h}\nFROM ${N:-${A}i}", []string{
			"7 docker.io/library/ai", "4 docker.io/library/e", "5 docker.io/library/f", "6 docker.io/library/gh", "3 docker.io/library/n",
		}},
		{"patterns", "ARG A=a.b.c\nFROM ${A%.*}\nFROM ${A%%.*}1\nFROM ${A#*.}\nFROM ${A##*.}2\nFROM ${A/./-}\nFROM ${A//./_}\nFROM ${A%?}d\nFROM ${A%\\*}", []string{
			"6 docker.io/library/a-b.c", "2 docker.io/library/a.b", "9 docker.io/library/a.b.c", "8 docker.io/library/a.b.d",
			"3 docker.io/library/a1", "7 docker.io/library/a_b_c", "4 docker.io/library/b.c", "5 docker.io/library/c2",
		}},
		{"quotes in a default", "ARG A=\"a\"'b'\nFROM $A", []string{"2 docker.io/library/ab"}},
		{"platform", "FROM a-$TARGETARCH-${TARGETOS}\nFROM b-${BUILDARCH}${TARGETVARIANT}", []string{"1 docker.io/library/a-arm64-linux", "2 docker.io/library/b-arm64"}},
		{"a stage by the platform", "FROM a AS s-arm64\nFROM b AS s-amd64\nFROM s-$TARGETARCH", []string{"1 docker.io/library/a", "2 docker.io/library/b"}},
		{"a stage by an arg", "ARG A=s\nFROM a AS s\nFROM $A", []string{"2 docker.io/library/a"}},
		{"no default", "ARG A\nFROM $A", []string{`2 ! "FROM $A": ARG A has no default: write ARG A=… before the first FROM`}},
		{"no default in the middle", "ARG A\nARG C\nFROM $A/b/$C", []string{`3 ! "FROM $A/b/$C": ARG A has no default: write ARG A=… before the first FROM`}},
		{"no default of a tag", "ARG A\nFROM b:$A", []string{"2 docker.io/library/b", `2 ! "FROM b:$A": ARG A has no default: write ARG A=… before the first FROM`}},
		{"no default that is needed", "ARG A\nFROM ${A}b", []string{"2 docker.io/library/b"}},
		{"required", "FROM ${A:?which}", []string{`1 ! FROM "${A:?which}": ARG A has no default: "which"`}},
		{"arg after FROM is none of FROM", "FROM scratch\nARG A=a\nFROM $A", []string{`3 ! "FROM $A": ARG A has no default: write ARG A=… before the first FROM`}},
		{"not closed", "FROM ${A", []string{`1 ! FROM "${A": ${A has none of - + ? # % / after it that is known here`}},
		{"escaped", `FROM \$A`, []string{`1 ! "FROM \\$A": "$A" is not the name of an image`}},
		// lines
		{"comments and continuations", "# a\n  # b\n\nFROM \\\n# c\n\n  a \\ \n AS b\r\nFROM b", []string{"4 docker.io/library/a"}},
		{"escape", "# escape=`\nFROM a`\nb\nRUN x \\\nFROM c", []string{"2 docker.io/library/ab", "5 docker.io/library/c"}},
		{"escape too late", "# a\n# escape=`\nFROM a`\nb", []string{"3 ! \"FROM a`\": \"a`\" is not the name of an image", `4 ! there is no instruction "b"`}},
		{"escape of something else", "# escape=x\nFROM a", []string{"2 docker.io/library/a", "1 ! # escape= is ` or \\, not \"x\""}},
		{"twice", "# escape=`\n# Escape=\\\nFROM a", []string{"3 docker.io/library/a", "2 ! # escape= is said twice"}},
		{"syntax", "# syntax=docker/dockerfile:1 x\n# escape=`\nFROM a`\nb", []string{"1 docker.io/docker/dockerfile", "3 docker.io/library/ab"}},
		{"syntax behind a shebang", "#!/usr/bin/env x\n#syntax = s\nFROM a", []string{"3 docker.io/library/a", "2 docker.io/library/s"}},
		{"syntax too late", "FROM a\n# syntax=s", []string{"1 docker.io/library/a"}},
		{"byte order mark", "\ufeffFROM a", []string{"1 docker.io/library/a"}},
		// here-documents
		{"here-document", "FROM a\nRUN <<EOF\nFROM b\nEOF\nCOPY --from=c <<\"A B\" <<-'C' /x\nFROM d\nA B\n\tFROM e\n\tC\nFROM f", []string{"1 docker.io/library/a", "5 docker.io/library/c", "10 docker.io/library/f"}},
		{"no here-document", "FROM a\nRUN [\"<<EOF\"]\nENV A <<EOF\nRUN echo \"<<EOF\" a<<EOF <<<EOF\nFROM b", []string{"1 docker.io/library/a", "5 docker.io/library/b"}},
		{"here-document with a number, in a continuation", "FROM a\nONBUILD RUN x \\\n 3<< EOF && y\nFROM b\nEOF\nFROM c", []string{"1 docker.io/library/a", "6 docker.io/library/c"}},
		{"here-document that does not end", "FROM a\nRUN <<EOF\nFROM b", []string{"1 docker.io/library/a", `2 ! the here-document that ends with "EOF" does not end`}},
		// what is no container file
		{"empty", "", []string{noFROM}},
		{"only comments", "# a\n", []string{noFROM}},
		{"something else", "all: build\n\tx", []string{noFROM, `1 ! there is no instruction "all:"`, `2 ! there is no instruction "x"`}},
		{"before FROM", "RUN x\nFROM a", []string{"2 docker.io/library/a", "1 ! RUN stands before the first FROM, where only ARG may"}},
		{"not UTF-8", "FROM a\nRUN \xff", []string{"2 ! is not UTF-8: save it as UTF-8"}},
		{"too large", strings.Repeat("#", 4<<20+1), []string{"Dockerfile ! is larger than 4 MiB, which no container file is"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(test.want, read(test.text)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestWants(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Dockerfile", "a/Containerfile", "dockerfile", "Dockerfile.test", "Containerfile.test", "a/b.Dockerfile", "x.dockerfile", "x.containerfile", "Dockerfile.arm64.test"} {
		if !(container.Language{}).Wants(name, false) {
			t.Errorf("does not want %s", name)
		}
		if (container.Language{}).Wants(name, true) {
			t.Errorf("wants %s above the module", name)
		}
	}
	for _, name := range []string{"Dockerfile.dockerignore", "Containerfile.in", "Dockerfile.j2", "Dockerfiles", "MyDockerfile", "Dockerfile/a", "dockerfile.go.tmpl", "x.dockerfile.md", ".dockerignore"} {
		if (container.Language{}).Wants(name, false) {
			t.Errorf("wants %s", name)
		}
	}
}

func TestFilesInAnyOrder(t *testing.T) {
	t.Parallel()
	in := imports.Input{Platform: "linux/amd64", Folder: "m", Files: []imports.File{
		{Path: "m/Dockerfile", Text: []byte("FROM a AS x\nFROM b")},
		{Path: "m/x/Dockerfile", Text: []byte("FROM x\nFROM a")},
		{Path: "m/Dockerfile.bad", Text: []byte("FROM a b")},
		{Path: "Dockerfile", Text: []byte("FROM above")},
		{Path: "m/readme", Text: []byte("FROM readme")},
	}}
	want := container.Language{}.Read(in)
	if len(want.Imports) != 3 || len(want.Faults) != 1 || len(want.Owns) != 0 {
		t.Fatalf("%+v", want)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		r.Shuffle(len(in.Files), func(i, j int) { in.Files[i], in.Files[j] = in.Files[j], in.Files[i] })
		if d := cmp.Diff(want, container.Language{}.Read(in)); d != "" {
			t.Fatal(d)
		}
	}
	if owners := (container.Language{}).Owners("quay.io/a/b"); !slices.Equal(owners, []string{"quay.io/a/b"}) {
		t.Error(owners)
	}
}

func TestImage(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 300)
	for reference, want := range map[string]string{
		"a": "docker.io/library/a", "a/b/c": "docker.io/a/b/c", "A/b": "A/b", "a.b/c": "a.b/c", "[::1]:5/a": "[::1]:5/a", "[::1]/a": "[::1]/a",
		"a-b--c__d.e_f": "docker.io/library/a-b--c__d.e_f", "a:B_c.d-1": "docker.io/library/a", "library/a": "docker.io/library/a",
		"a@sha256:" + long[:32]: "docker.io/library/a", strings.Repeat("a", 63): "docker.io/library/" + strings.Repeat("a", 63),
	} {
		if got, ok := container.Image(reference); !ok || got != want {
			t.Errorf("%q is %q, want %q", reference, got, want)
		}
	}
	for _, reference := range []string{
		"", "A", "a/", "/a", "a//b", "a:", "a@", "a@b", "a@1:" + long[:32], "a@sha256:g" + long[:32], "a:.b", "a:" + long[:129], long, long[:64],
		"a___b", "a..b", "-a", "a-", "a.b:x/c", "a.b:/c", "-a.b/c", "[x]:1/a", "a b", "é", "a.-b/c", "a-.b/c",
	} {
		if got, ok := container.Image(reference); ok {
			t.Errorf("%q is %q", reference, got)
		}
	}
}
