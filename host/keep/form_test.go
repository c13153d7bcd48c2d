package keep

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"noxmesh/link"
	"noxmesh/report"
)

var update = flag.Bool("update", false, "write the forms of the state anew")

// A version of the host that is not confirmed may be left, and then the one before
// reads what it has written (decision 0013). It reads strictly: a key that it does not
// know is damage to it. So a form of the state never changes unseen: whoever adds to
// one sees to it that nothing new is written before the version is confirmed, or that
// the release before can read it, and then writes the golden file anew.
func TestTheStateHasTheFormThatTheVersionBeforeReads(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, of := range []struct {
		file string
		kept any
	}{
		{identityFile, identityForm{}}, {joinedFile, Joined{}}, {acceptedFile, link.Envelope{}}, {stateFile, State{}}, {latestFile, report.Report{}},
	} {
		b.WriteString(of.file + "\n")
		form(&b, "  ", reflect.TypeOf(of.kept))
	}
	b.WriteString(recordFile + "\n")
	for _, seed := range recordSeeds() {
		record, err := DecodeRecord(seed)
		if err != nil {
			continue // a seed of what is refused
		}
		for line := range strings.Lines(string(record.Encode())) {
			b.WriteString("  " + line)
		}
	}
	golden := filepath.Join("testdata", "forms.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || b.String() != string(want) {
		t.Errorf("the form of what a host keeps is another than the version before has (decision 0013), %v:\n%s", err, b.String())
	}
}

// form is the keys that a document has, with those of what it consists of.
func form(b *strings.Builder, in string, of reflect.Type) {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Array:
		form(b, in, of.Elem())
		return
	case reflect.Struct:
	default:
		return
	}
	for i := range of.NumField() {
		f := of.Field(i)
		if tag := f.Tag.Get("json"); tag != "" && tag != "-" {
			fmt.Fprintf(b, "%s%s %s\n", in, tag, f.Type)
		}
		form(b, in+"  ", f.Type)
	}
}
