package mounts

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const table = "# a comment\n\nUUID=1 / ext4 errors=remount-ro 0 1\n  LABEL=two\\040words\t/srv/a\\040b/  ext4\n#x /srv/x ext4\nproc /proc\nnone swap swap sw 0 0\ntmpfs /tmp tmpfs size=1M"

func TestATableKeepsWhatIsNotAskedFor(t *testing.T) {
	t.Parallel()
	tab := ParseTable(table)
	if got := tab.Of("/srv/a b"); len(got) != 1 || got[0] != (Entry{Source: "LABEL=two words", Path: "/srv/a b", Type: "ext4", Options: "defaults"}) {
		t.Errorf("%+v", got)
	}
	for _, p := range []string{"/srv/x", "/proc", "swap/", "/srv"} {
		if got := tab.Of(p); len(got) != 0 {
			t.Errorf("%s: %+v", p, got)
		}
	}
	root := tab.With(Entry{Source: "/dev/x", Path: "/", Type: "xfs", Options: "ro"})
	if got, want := root.String(), strings.Replace(table, "UUID=1 / ext4 errors=remount-ro 0 1", "/dev/x / xfs ro 0 1", 1); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	more := tab.With(Entry{Source: "#a", Path: "/srv/new\tx", Type: "ext4", Options: "defaults"})
	if got, want := more.String(), table+"\n\\043a /srv/new\\011x ext4 defaults 0 0\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := more.Without("/srv/new\tx").String(), table+"\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Whatever the text is: a line that is written is read, and comes and goes without a
// byte of the others.
func FuzzTable(f *testing.F) {
	for _, s := range []string{"", table, "\\", "a b c\\", "a /b\\04 c", "\n\n", "#\\040 x y", "a\\0401 /b c d e f g"} {
		f.Add(s, "/srv/data")
	}
	f.Fuzz(func(t *testing.T, text, path string) {
		tab := ParseTable(text)
		if tab.String() != text {
			t.Fatalf("%q became %q", text, tab)
		}
		e := Entry{Source: "UUID=1", Path: "/" + strings.ReplaceAll(strings.Trim(path, "/."), "/", "_"), Type: "ext4", Options: "ro"}
		if strings.ContainsRune(path, 0) || len(path) == 0 || len(tab.Of(e.Path)) > 0 || strings.ContainsAny(path, "\v\f\u0085\u00a0") {
			return
		}
		with := tab.With(e)
		got := with.Of(e.Path)
		if e.rest = "0 0"; len(got) != 1 || got[0] != e {
			t.Fatalf("%q: wrote %+v, read %+v", text, e, got)
		}
		without := with.Without(e.Path).String()
		if without != text && without != text+"\n" {
			t.Fatalf("%q became %q", text, without)
		}
	})
}

const info = `25 1 0:23 / / rw,relatime - ext4 /dev/root rw,discard
36 25 98:0 /mnt1 /srv/a\040b rw,noatime master:1 shared:2 - ext3 /dev/sda1 rw,errors=continue
40 36 0:40 / /srv/a\040b ro,nosuid shared:3 - tmpfs tmpfs rw,size=1024k,mode=750,uid=5
41 25 0:41 / /srv/a\040bc rw - tmpfs x rw
39 40 0:42 / /srv/a\040b/in rw - nfs4 nas:/x rw
broken
`

func TestWhatIsSeenIsTheUppermost(t *testing.T) {
	t.Parallel()
	all := Parse(info)
	if len(all) != 5 {
		t.Fatalf("%+v", all)
	}
	top, there := At(all, "/srv/a b")
	if !there || top.Type != "tmpfs" || top.Options != "ro,nosuid" || top.Super != "rw,size=1024k,mode=750,uid=5" {
		t.Errorf("%+v", top)
	}
	if got := Below(all, "/srv/a b"); !slices.Equal(got, []string{"/srv/a b/in"}) {
		t.Errorf("%q", got)
	}
	if _, there := At(all, "/srv"); there {
		t.Error("something is mounted where nothing is")
	}
	if nfs := all[4]; !nfs.SameType("nfs") || !nfs.SameType("auto") || nfs.SameType("ext4") {
		t.Errorf("%+v", nfs)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"", info, " - ", "1 2 3 4 5 6 - a b c", "1 1 0:1 / \\057 x - a b c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all := Parse(text)
		for _, m := range all {
			if top, there := At(all, m.Path); there && top.Path != m.Path {
				t.Errorf("%q: %+v", text, top)
			}
			_ = Below(all, m.Path)
			_ = m.Unlike("size=1M,ro")
		}
	})
}

func TestOptionsAreComparedAsFarAsTheKernelSaysThem(t *testing.T) {
	t.Parallel()
	const rel = "rw,relatime"
	for _, c := range []struct{ declared, options, super, says string }{
		{"defaults", rel, "rw", ""},
		{"rw,suid,dev,exec,auto,nouser,async", rel, "rw,discard", ""},
		{"nofail,_netdev,x-systemd.requires=a.service,comment=x", rel, "rw", ""},
		{"defaults", "ro,relatime", "rw", "ro"},
		{"defaults", rel, "ro", "ro"},
		{"ro", rel, "rw", "rw"},
		{"ro,rw", rel, "rw", ""},
		{"noexec,exec", rel, "rw", ""},
		{"noexec,nosuid", "rw,nosuid,nodev,relatime", "rw", "nodev,exec"},
		{"noatime", "rw,noatime", "rw", ""},
		{"noatime", rel, "rw", "relatime"},
		{"atime", "rw,noatime", "rw", "noatime"},
		{"strictatime", "rw", "rw", ""},
		{"norelatime", rel, "rw", "relatime"},
		{"noatime,nodiratime", "rw,noatime", "rw", "diratime"},
		{"size=1M,mode=0750,uid=5", rel, "rw,size=1024k,mode=750,uid=5", ""},
		{"size=5000", rel, "rw,size=8k", ""},
		{"size=2m,mode=755", rel, "rw,size=1024k,mode=750", "size=1024k,mode=750"},
		{"size=50%", rel, "rw,size=1024k", ""},
		{"errors=remount-ro", rel, "rw,errors=continue", "errors=continue"},
		{"errors=remount-ro,data=ordered", rel, "rw", ""},
		{"uid=board,gid=6", rel, "rw,uid=5,gid=5", "gid=5"},
	} {
		if got := (Mounted{Type: "ext4", Options: c.options, Super: c.super}).Unlike(c.declared); got != c.says {
			t.Errorf("%s of %s and %s: got %q, want %q", c.declared, c.options, c.super, got, c.says)
		}
	}
}

func TestWhatWasNegotiatedIsNotCompared(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"nfs4", "cifs", "fuse.sshfs"} {
		m := Mounted{Type: kind, Options: "rw,relatime", Super: "rw,vers=4.2,rsize=65536"}
		if got := m.Unlike("vers=4,rsize=1048576"); got != "" {
			t.Errorf("%s: %s", kind, got)
		}
		if got := m.Unlike("vers=4,ro"); got != "rw" {
			t.Errorf("%s: %s", kind, got)
		}
	}
}

func TestNoPasswordIsShown(t *testing.T) {
	t.Parallel()
	e := Entry{Source: "//nas/x", Path: "/srv/x", Type: "cifs", Options: "username=a,password=s3cr3t,pass=s3cr3t,ro"}
	if got := e.Shown(); got != "//nas/x /srv/x cifs username=a,password=***,pass=***,ro" || !strings.Contains(e.line(), "password=s3cr3t") {
		t.Error(got)
	}
}

// What is mounted with what Explicit says is as declared.
func TestExplicitOptionsAreTheDeclaredOnes(t *testing.T) {
	t.Parallel()
	words := []string{"ro", "rw", "noexec", "exec", "nosuid", "suid", "nodev", "noatime", "atime", "relatime", "strictatime", "nodiratime", "diratime", "nosymfollow", "defaults", "nofail", "size=1M", "x-a=b"}
	rapid.Check(t, func(t *rapid.T) {
		options := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 8).Draw(t, "options"), ",")
		explicit := Explicit(options)
		var kernel []string
		for o := range strings.SplitSeq(explicit, ",") {
			if !slices.Contains([]string{"suid", "dev", "exec", "diratime", "strictatime"}, o) {
				kernel = append(kernel, o)
			}
		}
		if got := (Mounted{Options: strings.Join(kernel, ","), Super: "rw,size=1024k"}).Unlike(options); got != "" {
			t.Errorf("%s is %s, and differs by %s", options, explicit, got)
		}
		if strings.Contains(explicit, "nofail") || strings.Contains(explicit, "x-a") || strings.Contains(explicit, "defaults") {
			t.Errorf("%s is %s", options, explicit)
		}
	})
}

func TestHowLongAMountIsWaitedFor(t *testing.T) {
	t.Parallel()
	for options, want := range map[string]time.Duration{
		"defaults": patience, "ro,x-systemd.mount-timeout=5": 5 * time.Second, "x-systemd.mount-timeout=2min,ro": 2 * time.Minute, "x-systemd.mount-timeout=9h": 10 * time.Minute, "x-systemd.mount-timeout=x": patience,
	} {
		if got := Timeout(options); got != want {
			t.Errorf("%s: %s", options, got)
		}
	}
}
