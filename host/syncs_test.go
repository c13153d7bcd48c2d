package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"noxmesh/declaration"
)

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
	count := func(root string) map[string]int {
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
	root := memory(t)
	n := count(root)
	if n["resource.wave.sync"] != 1 || n["resource.wave.seal"] != 1 || n["disk.file.stage"] > 5 || n["disk.file.seal"] > 5 {
		t.Errorf("%v", n)
	}
	count(root) // says that all is as declared, which is another report
	n = count(root)
	for name, times := range n {
		if name != "keep.latest.touch" && name != "keep.folder.make" {
			t.Errorf("nothing to do, and %d times %s", times, name)
		}
	}
}
