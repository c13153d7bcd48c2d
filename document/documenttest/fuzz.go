package documenttest

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"runtime/metrics"
	"strings"
	"testing"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

// A reporter is told what does not hold: a test.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

// Codec is a decoder, what undoes it, and what more holds of an input.
type Codec[T any] struct {
	Decode func(data []byte) (T, error)
	Encode func(v T) ([]byte, error) // document.Canonical without one
	Kind   fault.Kind                // of its errors; fault.Invalid without one
	Also   func(t *testing.T, data []byte, v T, err error)
}

// Fuzz fuzzes a decoder. It fails where seeds are gone: a target without them
// finds little.
func Fuzz[T any](f *testing.F, c Codec[T], least int, seeds ...[]byte) {
	f.Helper()
	if len(seeds) < least {
		f.Fatalf("%d seeds, there were %d", len(seeds), least)
	}
	for _, s := range append(seeds, Hostile()...) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte) { Check(t, c, data) })
}

// Check is what holds of the decoder for this input.
func Check[T any](t *testing.T, c Codec[T], data []byte) {
	t.Helper()
	if c.Also != nil {
		v, err := c.Decode(data)
		c.Also(t, data, v, err)
	}
	check(t, c, data)
}

// check is Check of the laws that hold of every decoder.
func check[T any](t reporter, c Codec[T], data []byte) {
	t.Helper()
	done := Bounded(t, len(data))
	v, err := c.Decode(data)
	done()
	if err != nil {
		Plain(t, err)
		kind := c.Kind
		if kind == fault.Unknown {
			kind = fault.Invalid
		}
		if got := fault.KindOf(err); got != kind {
			t.Errorf("an error of kind %s: %v", got, err)
		}
		return
	}
	encode := c.Encode
	if encode == nil {
		encode = func(v T) ([]byte, error) { return document.Canonical(v) }
	}
	once, err := encode(v)
	if err != nil {
		t.Errorf("it is taken, and is not written: %v\n%q", err, data)
		return
	}
	again, err := c.Decode(once)
	if err != nil {
		t.Errorf("what it writes it does not take: %v\n%s", err, once)
		return
	}
	if twice, err := encode(again); err != nil || !bytes.Equal(once, twice) {
		t.Errorf("written once and twice (%v):\n%s\n%s", err, once, twice)
	}
}

// Seeds is the files of these patterns.
func Seeds(f *testing.F, patterns ...string) [][]byte {
	f.Helper()
	var seeds [][]byte
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("no seeds in %s: %v", pattern, err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			seeds = append(seeds, b)
		}
	}
	return seeds
}

// Hostile is what every decoder should have seen once.
func Hostile() [][]byte {
	texts := []string{
		"", " ", "null", "0", "[]", "{}", `""`, "[[[[[[[[", strings.Repeat("[", 200), strings.Repeat(`{"a":`, 100),
		`{"format":1,"format":1}`, `{"format":2}`, `{"format":-1}`, `{"format":1e400}`, `{"format":9007199254740993}`,
		"\ufeff{}", "{}{}", "{},", `{"a":"\ud800"}`, "{\"a\":\"\x00\"}", "{\"a\":\"\x1b[2J\"}", `{"\u001b]0;x\u0007":1}`, "\xff\xfe{\x00}\x00", "// no\n{}",
	}
	seeds := make([][]byte, len(texts))
	for i, s := range texts {
		seeds[i] = []byte(s)
	}
	return seeds
}

// Bounded begins to count what is allocated, and the function that it returns
// fails where that is out of proportion to an input of this size. It counts in
// a fuzzing process alone: elsewhere other tests allocate beside this one.
func Bounded(t reporter, size int) (done func()) {
	t.Helper()
	if worker := flag.Lookup("test.fuzzworker"); worker == nil || worker.Value.String() != "true" {
		return func() {}
	}
	before := allocated()
	return func() {
		if took := allocated() - before; took > 64<<20+1024*uint64(size) {
			t.Errorf("%d bytes of input made it allocate %d", size, took)
		}
	}
}

func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
