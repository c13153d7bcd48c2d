package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"noxmesh/declaration"
)

// counted applies, and counts the effects by their names.
func counted(t *testing.T, b bundle, root string) map[string]int {
	t.Helper()
	file := filepath.Join(t.TempDir(), "effects")
	if code, _, said := b.apply(t, root, "MESH_EFFECTS="+file); code != 0 {
		t.Fatalf("exit %d: %s", code, said)
	}
	text, err := os.ReadFile(file)
	must(t, err)
	n := map[string]int{}
	for _, e := range strings.Fields(string(text)) {
		name, _, _ := strings.Cut(e, "#")
		n[name]++
	}
	return n
}

// What has drifted is put back with a sync of the file, one of its directory, and
// those of the report: the record on the disk says what it said.
func TestDriftLeavesTheRecordAlone(t *testing.T) {
	t.Parallel()
	b := bundled(t, 1, crashBefore)
	root := memory(t)
	counted(t, b, root)
	counted(t, b, root)
	drift(t, root, []bundle{b, b})
	n := counted(t, b, root)
	const waves = 2 // the link lies in no directory that is declared, the file in one
	if n["resource.wave.sync"] != waves || n["resource.wave.seal"] != 1 || n["keep.changing.save"] != waves || n["keep.changing.drop"] != 1 {
		t.Errorf("%v", n)
	}
	if n["disk.file.stage"] != 1 || n["disk.file.seal"] != 1 {
		t.Errorf("more than the report was written: %v", n)
	}
	for path := range byHand {
		if touched(root, path) {
			t.Errorf("%s was not put back", path)
		}
	}
}

// However many waves a first apply has, what it makes is put on the disk twice:
// once before the bytes get their names, and once before the record and the
// report say that they are there.
func TestAFirstApplySyncsAFileSystemTwice(t *testing.T) {
	t.Parallel()
	b := bundled(t, 1, func(p *packer) (all []declaration.Resource) {
		for i := range 10 {
			dir := fmt.Sprintf("/srv/d%d", i)
			all = append(all, p.directory(fmt.Sprint("d", i), dir), p.directory(fmt.Sprint("e", i), dir+"/e"))
			for j := range 10 {
				all = append(all, p.file(fmt.Sprintf("f%d-%d", i, j), fmt.Sprintf("%s/e/f%d", dir, j), fmt.Sprint(i, j)))
			}
		}
		return all
	})
	root := memory(t)
	n := counted(t, b, root)
	if n["resource.wave.sync"] != 1 || n["resource.wave.seal"] != 1 || n["disk.file.stage"] > 5 || n["disk.file.seal"] > 5 {
		t.Errorf("%v", n)
	}
	counted(t, b, root) // says that all is as declared, which is another report
	n = counted(t, b, root)
	for name, times := range n {
		if name != "keep.latest.touch" && name != "keep.folder.make" {
			t.Errorf("nothing to do, and %d times %s", times, name)
		}
	}
}
