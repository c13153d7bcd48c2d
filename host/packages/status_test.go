package packages

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"noxmesh/host/system"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// debian is a folder with these files below /var/lib/dpkg.
func debian(t testing.TB, files map[string]string) Debian {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, "var/lib/dpkg", name)
		must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must(t, os.WriteFile(file, []byte(text), 0o644))
	}
	sys, err := system.Open(dir)
	must(t, err)
	t.Cleanup(func() { must(t, sys.Close()) })
	return Debian{sys}
}

func entry(name, arch, status, version string) string {
	return fmt.Sprintf("Package: %s\nStatus: %s\nPriority: optional\nMaintainer: Who <who@localhost>\nArchitecture: %s\nVersion: %s\nConffiles:\n /etc/x 00\nDescription: that\n Package: none\n .\n Version: none\n\n", name, status, arch, version)
}

const fine = "install ok installed"

func machine() map[string]string {
	return map[string]string{"status": entry("dpkg", "amd64", fine, "1.21.22") + entry("one", "amd64", fine, "1.0") + entry("one", "i386", "install ok half-configured", "0.9") +
		entry("any", "all", "hold ok installed", "2:3.0") + entry("gone", "amd64", "deinstall ok config-files", "1.0") + entry("none", "amd64", "unknown ok not-installed", "") +
		entry("torn", "amd64", "install reinstreq half-installed", "1.0") + strings.TrimSuffix(entry("last", "amd64", fine, "1.0"), "\n\n")}
}

func TestWhatIsInstalled(t *testing.T) {
	t.Parallel()
	d := debian(t, machine())
	names := []string{"one", "one:amd64", "one:i386", "one:arm64", "any", "any:amd64", "any:all", "any:i386", "gone", "none", "torn", "last", "nowhere"}
	in, err := d.Read(t.Context(), names)
	must(t, err)
	all, err := d.Read(t.Context(), nil)
	must(t, err)
	var got []string
	for _, name := range names {
		p := in.Of(name)
		if all.Of(name) != p {
			t.Errorf("%s: %v of all, and %v", name, all.Of(name), p)
		}
		words := []string{name, p.Architecture, p.Version}
		for word, is := range map[string]bool{"right": p.Right(), "there": p.There(), "held": p.Held(), "torn": p.torn()} {
			if is {
				words = append(words, word)
			}
		}
		slices.Sort(words[3:])
		got = append(got, strings.Join(words, " "))
	}
	if want := []string{
		"one amd64 1.0 right there", "one:amd64 amd64 1.0 right there", "one:i386 i386 0.9 there", "one:arm64  ",
		"any all 2:3.0 held there", "any:amd64 all 2:3.0 held there", "any:all all 2:3.0 held there", "any:i386  ",
		"gone amd64 1.0", "none amd64 ", "torn amd64 1.0 there torn", "last amd64 1.0 right there", "nowhere  ",
	}; !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if in.Same("one") != in.Same("one:amd64") || in.Same("one") == in.Same("one:i386") {
		t.Errorf("%q, %q, %q", in.Same("one"), in.Same("one:amd64"), in.Same("one:i386"))
	}
}

// What dpkg had not written into its status when it was ended counts.
func TestTheJournalHasTheLastWord(t *testing.T) {
	t.Parallel()
	files := machine()
	files["updates/0000"] = entry("one", "amd64", "install ok unpacked", "2.0")
	files["updates/0001"] = entry("one", "amd64", "install ok half-configured", "2.0")
	files["updates/0010"] = entry("last", "amd64", "deinstall ok config-files", "1.0")
	files["updates/tmp.i"] = entry("one", "amd64", fine, "3.0")
	in, err := debian(t, files).Read(t.Context(), []string{"one", "last"})
	must(t, err)
	if one, last := in.Of("one"), in.Of("last"); one.Version != "2.0" || one.State() != "half-configured" || last.There() || !in.unfinished() {
		t.Errorf("%v, %v", one, last)
	}
}

func TestUnfinished(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]bool{
		fine: false, "deinstall ok config-files": false, "hold ok installed": false, "install reinstreq half-installed": false,
		"install ok unpacked": true, "install ok half-configured": true, "install ok triggers-awaited": true, "install ok triggers-pending": true,
	} {
		in, err := debian(t, map[string]string{"status": entry("one", "amd64", status, "1.0")}).Read(t.Context(), nil)
		must(t, err)
		if in.unfinished() != want {
			t.Errorf("%s: %v", status, in.unfinished())
		}
	}
}

func TestAMachineWithoutDpkg(t *testing.T) {
	t.Parallel()
	if _, err := debian(t, nil).Read(t.Context(), []string{"one"}); err == nil || err.Error() != `read "/var/lib/dpkg/status": no such file or directory` {
		t.Error(err)
	}
}

// FuzzStatus takes any text for a status, and never says right of what is not.
func FuzzStatus(f *testing.F) {
	f.Add([]byte(machine()["status"]))
	f.Add([]byte("Package: x\n\n\nPackage:\n: \nStatus: install ok installed"))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, some := Installed{of: map[string][]Package{}}, Installed{of: map[string][]Package{}}
		all.take(text, nil)
		some.take(text, map[string]bool{"one": true})
		if !strings.Contains(string(text), fine) && slices.ContainsFunc(all.of["one"], Package.Right) {
			t.Error("it is right, and nothing says so")
		}
		if len(some.of) > len(all.of) {
			t.Errorf("%v of %v", some.of, all.of)
		}
	})
}

// BenchmarkHundred is a look at a hundred packages of a machine with two thousand,
// beside reading the file once.
func BenchmarkHundred(b *testing.B) {
	var text strings.Builder
	names := make([]string, 0, 100)
	for i := range 2000 {
		name := fmt.Sprintf("package-%04d", i)
		if i%20 == 0 {
			names = append(names, name)
		}
		text.WriteString(strings.Replace(entry(name, "amd64", fine, "1.0"), "Description", "Depends: "+strings.Repeat("libsomething-dev (>= 1.2.3), ", 30)+"libc6\nDescription", 1))
	}
	d := debian(b, map[string]string{"status": entry("dpkg", "amd64", fine, "1") + text.String()})
	file := filepath.Join(d.sys.Name(), statusFile)
	b.Run("look", func(b *testing.B) {
		b.SetBytes(int64(text.Len()))
		for b.Loop() {
			in, err := d.Read(b.Context(), names)
			if err != nil || !in.Of("package-0020").Right() {
				b.Fatal(err)
			}
			d.sys.Forget()
		}
	})
	b.Run("read", func(b *testing.B) {
		b.SetBytes(int64(text.Len()))
		for b.Loop() {
			if _, err := os.ReadFile(file); err != nil {
				b.Fatal(err)
			}
		}
	})
}
