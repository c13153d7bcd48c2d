package builder

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"noxmesh/delivery/build"
	"noxmesh/document"
)

// tamper is what a hostile module tries on what it is built against. It ends well
// only where nothing of that has worked.
const tamper = `
at=/mesh/lib/go
for file in $at/lib.go $at/go.mod; do
	echo "package evil" >$file && exit 3
	echo "package evil" >>$file && exit 4
	rm -f $file && exit 5
	mv $file $at/other && exit 6
	chmod 777 $file && exit 7
	touch $file && exit 8
	ln $file /build/hard && exit 9
done
echo x >$at/new && exit 10
mkdir $at/folder && exit 11
mount -o remount,rw $at && exit 12
umount $at && exit 13
mv /mesh/lib /mesh/other && exit 14
cat $at/lib.go >out/says
`

// A library is unpacked once, whoever is built against it; no build can write
// into what the next one sees.
func TestALibraryIsUnpackedOnceAndNobodyWritesIntoIt(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	r := newRig(t)
	const text = "package lib\n\nconst Name = \"lib\"\n"
	l := r.module("lib").gives(map[string]string{"module.json": libraryManifest("lib", "go"), "go.mod": "module example.com/lib\n\ngo 1.24\n", "lib.go": text})
	var seen fs.FileInfo
	kept := filepath.Join(r.config.State, "workshop"+librariesBeside, "whole", l.Digest.Hex(), "root")
	for i := range 2 {
		m := module{newRepository(t), r, "app"}
		a := m.build(map[string]string{
			"module.json": fmt.Sprintf(appManifest, `["sh", "evil.sh"]`), "go.mod": "module example.com/app\n\ngo 1.23\n\nrequire example.com/lib v1.0.0\n", "main.go": "package main\n\nfunc main() {}\n",
			"evil.sh": tamper + strings.Repeat("\n", i),
		}, l)
		if a.Outcome != build.OutcomeBuilt {
			t.Fatalf("%s: %s", a.Outcome, a.Why)
		}
		if got := r.content(a, "says"); got != text {
			t.Errorf("the library says %q", got)
		}
		info, err := os.Stat(filepath.Join(kept, "lib.go"))
		must(t, err)
		if seen != nil && !os.SameFile(seen, info) {
			t.Error("it was unpacked twice")
		}
		seen = info
	}
	is, err := os.ReadFile(filepath.Join(kept, "lib.go"))
	if err != nil || string(is) != text {
		t.Errorf("what is kept is %q, %v", is, err)
	}
}

// What a module with nothing to run is built against is laid out as well; and a
// library that is another than was asked for is no verdict.
func TestALibraryIsLaidOutForWhatOnlyPacks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	l := r.module("lib").gives(map[string]string{"module.json": libraryManifest("lib", "go"), "go.mod": "module example.com/lib\n\ngo 1.24\n", "lib.go": "package lib\n"})
	m := module{newRepository(t), r, "base"}
	files := map[string]string{
		"module.json": libraryManifest("base", "go"), "go.mod": "module example.com/base\n\ngo 1.24\n\nrequire example.com/lib v1.0.0\n",
		"base.go": "package base\n\nimport _ \"example.com/lib\"\n",
	}
	if a := m.build(files, l); a.Outcome != build.OutcomeBuilt {
		t.Errorf("%s: %s", a.Outcome, a.Why)
	}
	lost := l
	lost.Digest = document.Sum([]byte("another"))
	files["base.go"] += "\n"
	if a := m.build(files, lost); a.Outcome != build.OutcomeEnvironment || !strings.Contains(a.Why, "is that of "+string(l.Digest)) {
		t.Errorf("a library that is another: %s %s", a.Outcome, a.Why)
	}
}
