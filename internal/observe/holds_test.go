package observe_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/host/keep"
	"noxmesh/host/system"
	"noxmesh/internal/invariant"
	"noxmesh/internal/observe"
)

// held is what a machine's disk holds where all of these are as declared.
func held() (map[string]string, []declaration.Resource) {
	of := func(id string, kind declaration.Type, path string, t declaration.Traits) declaration.Resource {
		return declaration.Resource{ID: "m/" + id, Type: kind, Path: path, Traits: &t}
	}
	files := map[string]string{
		"etc/passwd":          "root:x:0:0:root:/root:/bin/sh\nboard:x:712:713::/srv:/bin/false\n",
		"etc/shadow":          "root:!:1::::::\nboard:!:1::::::\n",
		"etc/group":           "root:x:0:\nboard:x:713:\naudio:x:29:board\n",
		"etc/gshadow":         "root:*::\nboard:!::\naudio:*::board\n",
		"etc/fstab":           "# what is mounted\n/dev/a / ext4 defaults 0 1\ntmpfs /srv/a\\040b tmpfs size=1M 0 0\n",
		"var/lib/dpkg/status": "Package: one\nStatus: install ok installed\nVersion: 1.0\n\nPackage: two\nStatus: deinstall ok config-files\nVersion: 1.0\n\n",
		"etc/systemd/system/multi-user.target.wants/plain.service": "",
		"etc/systemd/system/mesh-container-web.service":            `# The container "web", as mesh-host keeps it: what is changed here is put back.` + "\n",
		"etc/sysctl.d/99-mesh-host.net.ipv4.ip_forward.conf":       "# Kept\nnet.ipv4.ip_forward = 1\n",
	}
	return files, []declaration.Resource{
		of("u", declaration.User, "", declaration.Traits{Name: "board", UID: 712, Group: "board", Groups: []string{"audio"}, Home: "/srv", Shell: "/bin/false"}),
		of("g", declaration.Group, "", declaration.Traits{Name: "board", GID: 713}), of("p", declaration.Package, "", declaration.Traits{Name: "one:amd64", Version: "1.0"}),
		of("m", declaration.Mount, "/srv/a b", declaration.Traits{Source: "tmpfs", FSType: "tmpfs", Options: "size=1M"}),
		of("s", declaration.Service, "", declaration.Traits{Unit: "plain.service", State: declaration.Running}), of("c", declaration.Container, "", declaration.Traits{Name: "web", Image: "x"}),
		of("k", declaration.Sysctl, "", declaration.Traits{Name: "net/ipv4/ip_forward", Value: "1"}),
	}
}

// What a record says of users, packages and all else that is at no path is held against what
// lies on the disk.
func TestARecordIsHeldAgainstTheMachine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, from, to, want string }{
		"as it is":             {},
		"no user":              {"etc/passwd", "board:", "other:", "I2 ROOT:user board"},
		"half a user":          {"etc/shadow", "board:!:1::::::\n", "", "I2 ROOT:user board"},
		"another number":       {"etc/passwd", ":712:", ":711:", "I2 ROOT:user board"},
		"not in its group":     {"etc/group", ":29:board", ":29:", "I2 ROOT:user board"},
		"no group":             {"etc/gshadow", "board:!::\n", "", "I2 ROOT:group board"},
		"another version":      {"var/lib/dpkg/status", "Version: 1.0", "Version: 2.0", "I2 ROOT:package one:amd64"},
		"half installed":       {"var/lib/dpkg/status", "ok installed", "ok unpacked", "I2 ROOT:package one:amd64"},
		"no line":              {"etc/fstab", "tmpfs /srv", "# tmpfs /srv", "I2 ROOT:mount /srv/a b"},
		"half a line":          {"etc/fstab", " tmpfs size=1M 0 0\n", "", "I2 ROOT:mount /srv/a b"},
		"not at boot":          {"etc/systemd/system/multi-user.target.wants/plain.service", "", "", "I2 ROOT:service plain.service"},
		"an empty unit":        {"etc/systemd/system/mesh-container-web.service", "# The container", "", "I2 ROOT:container web"},
		"half a sysctl":        {"etc/sysctl.d/99-mesh-host.net.ipv4.ip_forward.conf", "forward = 1", "forw", "I2 ROOT:sysctl net.ipv4.ip_forward"},
		"somebody else's user": {"etc/passwd", "root:/bin/sh", "root:/bin/false", "I7 ROOT:user root"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files, all := held()
			root := t.TempDir()
			for name, text := range files {
				if name == c.file {
					if c.from == "" {
						continue
					}
					text = strings.Replace(text, c.from, c.to, 1)
				}
				write(t, filepath.Join(root, name), text)
			}
			record(t, root, all)
			n, err := observe.Node(root, all...)
			if err != nil {
				t.Fatal(err)
			}
			are, err := observe.Subjects(root)
			if err != nil {
				t.Fatal(err)
			}
			n.Foreign = []invariant.Foreign{{Path: "user root", Put: "group root, home /root, in the file of passwords yes, shell /bin/sh, uid 0", Found: are["user root"].String()}}
			if len(n.Things) != len(all) {
				t.Errorf("%+v", n.Things)
			}
			found := invariant.Always(invariant.Seen{Nodes: []invariant.Node{n}})
			if c.want == "" && len(found) > 0 || c.want != "" && (len(found) != 1 || !strings.HasPrefix(found[0].String(), strings.Replace(c.want, "ROOT", filepath.Base(root), 1)+":")) {
				t.Errorf("it finds %v, want %q", found, c.want)
			}
		})
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// record says of all of these that they were read back.
func record(t *testing.T, root string, all []declaration.Resource) {
	t.Helper()
	sys, err := system.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer sys.Close()
	folder, err := keep.Open(sys)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	r := keep.Record{Entries: keep.NewTable(0), Holds: map[string]keep.Hold{}, Done: map[string]document.Digest{}}
	for _, res := range all {
		digest, err := res.ContentDigest()
		if err != nil {
			t.Fatal(err)
		}
		r.Done[res.ID] = digest
		r.Holds[res.Subject()] = keep.Hold{Subject: res.Subject(), ID: res.ID, Origin: keep.Made, Phase: keep.Done}
	}
	if err := folder.SaveRecord(r); err != nil {
		t.Fatal(err)
	}
}
