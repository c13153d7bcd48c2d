package line

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"noxmesh/api"
	"noxmesh/cli"
	"noxmesh/internal/fault"
	"noxmesh/internal/machine"
	"noxmesh/internal/observe"
	"noxmesh/sealed"
	"noxmesh/status"
)

// says runs mesh as a person does, with this on its standard input, and gives the
// status that it ended with. What it printed lies beside the logs of the mesh.
func (m *mesh) says(stdin string, args ...string) int {
	m.t.Helper()
	out, err := os.OpenFile(m.path("typed.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(m.t, err)
	defer out.Close()
	return cli.Run(m.t.Context(), cli.Config{
		Version: "test", Stdin: strings.NewReader(stdin), Stdout: out, Stderr: out, Environ: func(string) string { return "" }, Self: m.dir,
	}, append([]string{"--controller", m.socket()}, args...))
}

// give gives a secret of the module app its value.
func (m *mesh) give(value string, args ...string) {
	m.t.Helper()
	if code := m.says(value, append([]string{"secret", "set", "app", "db-url"}, args...)...); code != 0 {
		m.t.Fatalf("mesh secret set ended with %d", code)
	}
}

// secretIs is a fact: which version of the secret a node has, and which it has applied.
func (m *mesh) secretIs(node string, version, applied int64) {
	m.t.Helper()
	m.poll(fmt.Sprintf("on %s it has version %d, and %d is applied", node, version, applied), func() string {
		out := do(m, api.Secrets(), api.SecretsIn{Module: "app", Node: node})
		if len(out.Secrets) == 1 && out.Secrets[0].Version == version && out.Secrets[0].Applied == applied {
			return ""
		}
		return fmt.Sprintf("%+v", out.Secrets)
	})
}

const appEnv = "url=%s\nprice=$5 ${x}\n"

func app() files {
	return files{"module.json": `{"module": "app", "secrets": {"db-url": {"says": "the database"}}, "resources": [
		{"id": "env", "type": "file", "path": "/etc/app/env", "content": "url=${secret.db-url}\nprice=$5 $${x}\n"},
		{"id": "beside", "type": "file", "path": "/etc/app/beside", "content": "${node.name}"}]}`}
}

// canary is a value, all that a file with it in is made of, and what both can be
// tried against.
func canary(name, value string, homes ...string) []observe.Secret {
	var all []observe.Secret
	for what, text := range map[string]string{name: value, "the file with " + name: fmt.Sprintf(appEnv, value)} {
		sum := sha256.Sum256([]byte(text))
		all = append(all, observe.Secret{Name: what, Bytes: []byte(text), Homes: homes}, observe.Secret{Name: "the hash of " + what, Bytes: sum[:]})
	}
	return all
}

// hidden fails where anything of this is found but at home.
func (m *mesh) hidden(secrets []observe.Secret) {
	m.t.Helper()
	hunt := observe.Seek(secrets)
	must(m.t, hunt.Folder(m.dir))
	for _, c := range hunt.Found() {
		if len(c.Found) > 0 {
			m.t.Errorf("%s is in %s", c.Name, strings.Join(c.Found, ", "))
		}
	}
}

// A secret goes through the whole line, is rotated, drifts and cannot be opened, and
// everybody is asked about it: it is in the one file that is declared, and in no other
// of controller, registry, builder, host and logs, nor in anything that was printed.
func TestASecretIsNowhereButInItsFile(t *testing.T) {
	t.Parallel()
	m := start(t, options{hosts: 2, builders: 1})
	const first, second, wrong = "canary-of-the-first-value", "canary-of-the-second-one", "canary-that-somebody-wrote"
	homes := []string{m.root("node1", "etc/app/env"), m.root("node2", "etc/app/env")}
	secrets := append(canary("the first value", first, homes...), canary("the second value", second, homes...)...)
	secrets = append(secrets, canary("what was there", wrong, homes...)...)

	commit := m.module("app", app())
	m.assign("app", "node1", "node2")
	m.auto("app")
	m.until("it is fit, and waits for its value", func(s status.Status) string {
		if isFit("app", commit)(s) == "" && strings.Contains(fmt.Sprintf("%+v", nodeOf(s, "node1")), `needs the secret "db-url", which has no value for node1: mesh secret set app db-url --node node1`) {
			return ""
		}
		return fmt.Sprintf("%s %+v", line(s, "app"), nodeOf(s, "node1"))
	})
	m.lacks("node1", "etc/app/beside") // a module is never half of it there
	m.give(first + "\n")
	m.until("it is out", isOut("app", commit, 2))
	m.secretIs("node1", 1, 1)
	m.secretIs("node2", 1, 1)
	m.holds("node1", "etc/app/env", fmt.Sprintf(appEnv, first))
	if info, err := os.Stat(homes[0]); err != nil || info.Mode() != 0o640 {
		t.Error(info.Mode(), err)
	}
	m.hidden(secrets)

	must(t, os.WriteFile(homes[0], []byte(fmt.Sprintf(appEnv, wrong)), 0o640)) // somebody else writes it
	m.poll("it is put back", func() string {
		if got := m.read("node1", "etc/app/env"); got != fmt.Sprintf(appEnv, first) {
			return "it is not"
		}
		return ""
	})
	m.give(second)
	m.secretIs("node1", 2, 2)
	m.secretIs("node2", 2, 2)
	m.holds("node1", "etc/app/env", fmt.Sprintf(appEnv, second))
	m.holds("node2", "etc/app/env", fmt.Sprintf(appEnv, second))

	// One that is sealed for another node is refused by the name of what it is for, and
	// what is there stays.
	to := do(m, api.SecretRecipients(), api.SecretRecipientsIn{Module: "app", Secret: "db-url", Nodes: []string{"node2"}})
	other := do(m, api.SecretRecipients(), api.SecretRecipientsIn{Module: "app", Secret: "db-url", Nodes: []string{"node1"}}).Recipients[0].Node
	text, err := sealed.Seal(to.Recipients[0].Recipient, sealed.Value{
		For: sealed.For{Mesh: to.Mesh, Node: other, Module: "app", Name: "db-url"}, Version: to.Version, Value: []byte(first),
	})
	must(t, err)
	do(m, api.SecretSet(), api.SecretSetIn{Module: "app", Secret: "db-url", Version: to.Version, Values: []api.Sealed{{Node: to.Recipients[0].Node, Recipient: to.Recipients[0].Recipient, Sealed: text}}})
	want := fmt.Sprintf(`open the secret "db-url": it is sealed for the node %q, and this is %q; give it anew, where the mesh is: mesh secret set app db-url`, other, to.Recipients[0].Node)
	m.poll("it is said that it cannot be opened", func() string {
		out := do(m, api.NodeShow(), api.NodeIn{Node: "node2"})
		for _, r := range out.Resources {
			if r.Resource == "app/env" && strings.Contains(r.Error, want) {
				return ""
			}
		}
		return fmt.Sprintf("%+v", out.Resources)
	})
	m.holds("node2", "etc/app/env", fmt.Sprintf(appEnv, second))
	m.secretIs("node2", 3, 2)

	for _, args := range [][]string{
		{"status"},
		{"status", "-o", "json"},
		{"plan"},
		{"plan", "-o", "json"},
		{"secret", "list"},
		{"secret", "list", "-o", "json"},
		{"node", "show", "node1"},
		{"node", "show", "node2", "-o", "json"},
		{"module", "show", "app"},
		{"why", "node2", "app"},
		{"builds"},
		{"logs", "app"},
	} {
		m.says("", args...)
	}
	m.hidden(secrets)
	m.give(first)
	m.secretIs("node2", 4, 4)
	for _, p := range append(append([]*part{}, m.hosts...), m.builders...) {
		p.stop()
	}
	m.controller.stop()
	m.hidden(secrets) // what was written at the end as well

	// The test finds what it is to find.
	sum := sha256.Sum256([]byte(first))
	must(t, os.WriteFile(filepath.Join(m.dir, "leak"), []byte("x"+base64.StdEncoding.EncodeToString(sum[:])), 0o600))
	hunt := observe.Seek(secrets)
	must(t, hunt.Folder(m.dir))
	found := ""
	for _, c := range hunt.Found() {
		found += strings.Join(c.Found, " ")
	}
	if found != filepath.Join(m.dir, "leak") {
		t.Errorf("found in %q", found)
	}
}

// X48: a secret is rotated while a node is away. It has the old one until it has
// accepted the new declaration, and so the list says; nothing is complete before its
// word.
func TestASecretIsRotatedWhileANodeIsAway(t *testing.T) {
	t.Parallel()
	each(t, options{hosts: 2, builders: 1}, func(t *testing.T, m *mesh) {
		commit := m.module("app", app())
		m.assign("app", "node1", "node2")
		m.auto("app")
		m.until("it is fit", isFit("app", commit))
		m.give("old")
		m.until("it is out", isOut("app", commit, 2))
		m.secretIs("node1", 1, 1)
		m.secretIs("node2", 1, 1)

		away := m.host("node1")
		away.stop()
		m.give("new")
		m.secretIs("node2", 2, 2)
		m.holds("node2", "etc/app/env", fmt.Sprintf(appEnv, "new"))
		m.secretIs("node1", 2, 1)
		m.holds("node1", "etc/app/env", fmt.Sprintf(appEnv, "old"))
		m.controller.stop()
		m.controller.start()
		m.untilUp()
		m.secretIs("node1", 2, 1)

		away.start()
		m.secretIs("node1", 2, 2)
		m.holds("node1", "etc/app/env", fmt.Sprintf(appEnv, "new"))

		// A node that joins anew has another key: what was sealed to the one before is gone.
		if why := refused(m, api.SecretRemove(), api.SecretRemoveIn{Module: "app", Secret: "other"}, fault.NotFound); why == "" {
			t.Error("a secret without a value is removed")
		}
		do(m, api.NodeRemove(), api.NodeIn{Node: "node2"})
		if out := do(m, api.Secrets(), api.SecretsIn{Module: "app"}); len(out.Secrets) != 1 || out.Secrets[0].Name != "node1" {
			t.Errorf("%+v", out)
		}
	})
}

// rotated is a service that reads a secret from a file: it is started again with
// another value, and nobody else has either.
func (m *mesh) rotated(node *machine.Machine) {
	m.t.Helper()
	const one, two = "canary-that-runs-first", "canary-that-runs-then"
	first := m.module("app", files{
		"unit": "[Service]\nEnvironmentFile=/etc/app/env\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n",
		"module.json": `{"module": "app", "secrets": {"db-url": {}}, "resources": [
		{"id": "env", "type": "file", "path": "/etc/app/env", "group": "www-data", "content": "DB=${secret.db-url}\n"},
		{"id": "unit", "type": "file", "path": "/etc/systemd/system/app.service", "from": "unit"},
		{"id": "run", "type": "service", "unit": "app.service", "state": "running", "restart_on": ["env", "unit"]}]}`,
	})
	m.assign("app", "node")
	m.auto("app")
	m.until("it is fit", isFit("app", first))
	runs := func() string {
		return node.Sh(m.t, `tr '\0' '\n' </proc/$(systemctl show -P MainPID app)/environ | grep ^DB=; stat -c '%%U:%%G %%a' /etc/app/env`)
	}
	m.give(one)
	m.until("the service is out", isOut("app", first, 1))
	if got := runs(); got != "DB="+one+"\nroot:www-data 640" {
		m.t.Error(got)
	}
	m.give(two)
	m.secretIs("node", 2, 2)
	m.until("it runs", isOut("app", first, 1))
	if got := runs(); got != "DB="+two+"\nroot:www-data 640" {
		m.t.Error(got)
	}
	if got := node.Sh(m.t, "{ journalctl --no-pager; mesh-host status; mesh-host status -o json; } | grep -c canary-that-runs; grep -rl canary-that-runs /etc /var /run /root /tmp 2>/dev/null | cat"); got != "0\n/etc/app/env" {
		m.t.Errorf("it is in %s", got)
	}
	do(m, api.Unassign(), api.UnassignIn{Module: "app", Node: "node"})
	m.poll("the file is gone", func() string { return node.Sh(m.t, "ls /etc/app 2>&1 | grep -v such | cat") })
}
