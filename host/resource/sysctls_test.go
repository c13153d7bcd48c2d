package resource

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"noxmesh/host/system"
)

func sysctlSeeds() []string {
	return []string{
		"", "# a.b = 1\n; a.b = 2\n", "a.b=1", "a/b = 1 \t 2 \r\n", "-a.b = 3\n-a.b\n", "a.*.c = 1\n-a.x.c\n", "=1\n-\n-=\nnone\n", "net.ipv4.conf.eth0/1.x=\n",
	}
}

func FuzzParseAssignments(f *testing.F) {
	for _, s := range sysctlSeeds() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, a := range parseAssignments(text, "/etc/sysctl.d/x.conf") {
			if a.path == "" || strings.ContainsAny(a.path, "\n*?[=") || strings.Contains(a.value, "\n") || !a.set && a.value != "" {
				t.Errorf("%q: %+v", text, a)
			}
			if again := parseAssignments(a.path+" = "+a.value, ""); a.set && (len(again) != 1 || again[0].value != a.value || again[0].path != a.path) && strings.Contains(a.path, "/") && a.path[0] != '#' && a.path[0] != ';' && a.path[0] != '-' {
				t.Errorf("%q: %+v, and then %+v", text, a, again)
			}
		}
	})
}

func TestWhatIsSetAtBoot(t *testing.T) {
	t.Parallel()
	m := &machine{t: t, dir: t.TempDir()}
	m.plant("/usr/lib/sysctl.d/50-default.conf", "a.b = 1\nc.d = 1\nnet.*.x = 5\n")
	m.plant("/usr/lib/sysctl.d/60-gone.conf", "a.b = 2\n")
	m.plant("/etc/sysctl.d/70-x.conf", "a/b = 3  4\n e.f=1")
	m.plant("/run/sysctl.d/70-x.conf", "a.b = 9\n")
	m.plant("/etc/sysctl.d/80-none.text", "a.b = 9\n")
	m.plant("/etc/sysctl.d/.81-none.conf", "a.b = 9\n")
	m.plant("/etc/sysctl.conf", "c.d=7\n")
	must(t, os.Symlink("/dev/null", m.at("/etc/sysctl.d/60-gone.conf")))
	must(t, os.Symlink("../sysctl.conf", m.at("/etc/sysctl.d/99-sysctl.conf")))
	must(t, os.Symlink("loop.conf", m.at("/etc/sysctl.d/loop.conf")))
	must(t, os.Symlink("nowhere", m.at("/etc/sysctl.d/nowhere.conf")))
	must(t, os.Mkdir(m.at("/etc/sysctl.d/folder.conf"), 0o755))
	m.plant("/etc/sysctl.d/zz.conf", "-e.f\n")
	sys, err := system.Open(m.dir)
	must(t, err)
	t.Cleanup(func() { _ = sys.Close() })
	files, err := readAssignments(sys)
	must(t, err)
	for path, want := range map[string]string{
		"a/b": `"3 4" by /etc/sysctl.d/70-x.conf, true`, "c/d": `"7" by /etc/sysctl.d/99-sysctl.conf, true`, "e/f": `"" by /etc/sysctl.d/zz.conf, false`, "net/q/x": `"" by , false`,
	} {
		a, set := files.last(path)
		if got := fmt.Sprintf("%q by %s, %v", a.value, a.file, set); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
	for path, want := range map[string]string{"a/b": "", "c/d": "/etc/sysctl.d/99-sysctl.conf", "e/f": "/etc/sysctl.d/zz.conf"} {
		if a, _ := files.after(path, sysctlFile("a.b")); a.file != want {
			t.Errorf("%s: %+v", path, a)
		}
	}
}

func TestTheNoteOfASysctl(t *testing.T) {
	t.Parallel()
	for _, n := range []knobNote{{was: "0", set: []string{"1"}}, {was: "", set: []string{"1 2", ""}}, {was: "a  b", set: []string{"was 1", "set 2", "0"}}} {
		if got := readKnobNote(n.String()); fmt.Sprint(got) != fmt.Sprint(n) || len(got.set) != len(n.set) {
			t.Errorf("%+v came back as %+v", n, got)
		}
	}
	if n := readKnobNote(""); len(n.set) > 0 {
		t.Errorf("%+v", n)
	}
}
