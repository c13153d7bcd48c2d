package archtest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A test that nothing runs holds nothing.
func TestEveryTestIsRun(t *testing.T) {
	t.Parallel()
	unrun, err := read(t, "../..").Unrun()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range unrun {
		t.Error(f)
	}
}

func TestATestThatNothingRunsIsFound(t *testing.T) {
	t.Parallel()
	tagged := "//go:build wrong && linux\n\npackage x\n\n"
	files := map[string]string{
		"go.mod":        "module small\n",
		"Makefile":      "ROOMS := ./a ./b/...\nx:\n\tgo test -tags wrong -run '^Test(One|Two$$)' $(ROOMS)\n\tgo test ./c\n\tbin/d.test -test.run TestFour\n",
		"a/a_test.go":   tagged + "func TestOne(t *testing.T) {}\nfunc TestOneMore(t *testing.T) {}\nfunc TestTwoMore(t *testing.T) {}\nfunc TestMain(m *testing.M) {}\nfunc helper() {}\n",
		"b/c/c_test.go": tagged + "func TestTwo(t *testing.T) {}\nfunc TestFour(t *testing.T) {}\n",
		"c/c_test.go":   tagged + "func TestOne(t *testing.T) {}\n",
		"c/d_test.go":   "//go:build linux\n\npackage x\n\nfunc TestThree(t *testing.T) {}\n",
		"c/e_test.go":   "package x\n\nfunc TestFive(t *testing.T) {}\n",
		"d/d_test.go":   tagged + "func TestFour(t *testing.T) {}\nfunc TestFive(t *testing.T) {}\n",
	}
	got, err := read(t, small(t, files)).Unrun()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"a: no line of the Makefile runs TestTwoMore",
		"b/c: no line of the Makefile runs TestFour",
		"c: no line of the Makefile runs TestOne",
		"d: no line of the Makefile runs TestFive",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
