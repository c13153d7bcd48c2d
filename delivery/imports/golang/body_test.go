package golang_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"noxmesh/document"
)

// Bodies of one function, as they are committed one after the other.
const (
	firstBody  = "package lib\n\nfunc Name() string { return name() }\n\n//go:noinline\nfunc name() string { return \"first\" }\n"
	otherBody  = "package lib\n\nfunc Name() string { return name() }\n\n//go:noinline\nfunc name() string { return \"other\" }\n"
	inlined    = "package lib\n\nfunc Name() string { return name() }\n\nfunc name() string { return \"first\" }\n"
	inlinedToo = "package lib\n\nfunc Name() string { return name() }\n\nfunc name() string { return \"other\" }\n"
	comment    = "package lib\n\nfunc Name() string { return name() } // words\n\n//go:noinline\nfunc name() string { return \"first\" }\n"
	lineAbove  = "package lib\n\n// words\nfunc Name() string { return name() }\n\n//go:noinline\nfunc name() string { return \"first\" }\n"
)

const bodyMain = "package main\n\nimport \"example.com/lib\"\n\nfunc main() { print(lib.Name()) }\n"

// compiledLib is what the compiler makes of a body: what others are compiled
// against, what they are linked with, and what it makes of a program against the former.
type compiledLib struct{ export, object, user document.Digest }

func goTool(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0", "GOPROXY=off", "GOTOOLCHAIN=local")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %v: %v\n%s", args, err, out)
	}
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func sumOf(t *testing.T, path string) document.Digest {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return document.Sum(b)
}

func compileLib(t *testing.T, body string) compiledLib {
	t.Helper()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	writeText(t, in("lib.go"), body)
	writeText(t, in("main.go"), bodyMain)
	writeText(t, in("cfg"), "packagefile example.com/lib="+in("lib.x")+"\n")
	goTool(t, dir, "tool", "compile", "-p", "example.com/lib", "-trimpath", dir, "-complete", "-o", "lib.x", "-linkobj", "lib.o", "lib.go")
	goTool(t, dir, "tool", "compile", "-p", "main", "-trimpath", dir, "-complete", "-importcfg", "cfg", "-o", "main.x", "-linkobj", "main.o", "main.go")
	return compiledLib{sumOf(t, in("lib.x")), sumOf(t, in("lib.o")), sumOf(t, in("main.o"))}
}

// Export data cannot decide who is built again: where it stays as it was the
// program that is linked is another one all the same, and where it moves nothing
// that others write may have.
func TestExportDataDecidesNothing(t *testing.T) {
	t.Parallel()
	first, other := compileLib(t, firstBody), compileLib(t, otherBody)
	if first.export != other.export || first.user != other.user {
		t.Error("a body that nobody inlines moved what others compile against")
	}
	if first.object == other.object {
		t.Error("another body gave the same code")
	}
	if a, b := compileLib(t, inlined), compileLib(t, inlinedToo); a.export == b.export || a.user == b.user {
		t.Error("a body that is inlined is in its users, and moved nothing of them")
	}
	if above := compileLib(t, lineAbove); above.export == first.export {
		t.Error("export data says nothing of lines")
	}
	if same := compileLib(t, comment); same != first {
		t.Error("words at the end of a line moved something")
	}
}

// What stops a change is what comes out. The go command gives the same program
// for a comment that moves no line, and another for another body.
func TestAProgramHoldsTheBodiesItIsLinkedWith(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeText(t, filepath.Join(dir, "lib/go.mod"), "module example.com/lib\n\ngo 1.24\n")
	writeText(t, filepath.Join(dir, "app/go.mod"), "module example.com/app\n\ngo 1.24\n\nrequire example.com/lib v0.0.0\n\nreplace example.com/lib => ../lib\n")
	writeText(t, filepath.Join(dir, "app/main.go"), bodyMain)
	program := func(body string) []byte {
		writeText(t, filepath.Join(dir, "lib/lib.go"), body)
		goTool(t, filepath.Join(dir, "app"), "build", "-trimpath", "-buildvcs=false", "-o", "app", ".")
		b, err := os.ReadFile(filepath.Join(dir, "app/app"))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	first := program(firstBody)
	if bytes.Equal(first, program(otherBody)) {
		t.Error("a program with another body is the same")
	}
	if !bytes.Equal(first, program(comment)) {
		t.Error("a comment that moves no line gave another program")
	}
}
