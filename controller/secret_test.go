package controller

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"noxmesh/api"
	"noxmesh/declaration"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	inventorystore "noxmesh/inventory/store"
	"noxmesh/report"
)

const withSecret = `"secrets": {"db-url": {"says": "where it keeps things"}, "idle": {}}, "resources": [{"id": "env", "type": "file", "path": "/etc/env", "content": "${secret.db-url}"}]`

// joins lets the node join with these keys, and say what it can.
func (r *rig) joins(keys string) {
	r.t.Helper()
	r.tx(func(tx *db.Tx) error {
		return inventorystore.JoinNode(tx, inventorystore.Joining{ID: testNode, Sign: r.key.Public(), Nats: "U" + keys, Seal: "age1" + keys, Host: "1.0", Speaks: []int{1}, At: clock.Now()})
	})
	said := report.Report{Node: testNode, Sequence: 1, Outcome: report.OutcomeApplied, Facts: &report.Facts{Arch: "amd64", Capabilities: []string{"keeps-secrets"}}}
	r.tx(func(tx *db.Tx) error {
		_, err := inventorystore.SaveReport(tx, said, []byte("envelope"), clock.Now())
		return err
	})
}

func (r *rig) recipients(secret string, nodes ...string) (api.SecretRecipientsOut, error) {
	return r.answerSecretRecipients(r.t.Context(), api.Who{Name: "anna"}, api.SecretRecipientsIn{Module: "site", Secret: secret, Nodes: nodes})
}

// gives is a person who gives a secret its value.
func (r *rig) giveSecret(in api.SecretSetIn) (api.SecretSetOut, error) {
	in.Module = "site"
	return r.answerSecretSet(r.t.Context(), api.Who{Name: "anna"}, in)
}

// listed is what mesh secret list says, a line for each.
func (r *rig) listed() string {
	r.t.Helper()
	out, err := r.answerSecrets(r.t.Context(), api.Who{}, api.SecretsIn{})
	r.must(err)
	text := ""
	for _, s := range out.Secrets {
		text += fmt.Sprintf("%s/%s on %s needed=%v v%d applied=%d by=%s says=%q\n", s.Module, s.Secret, s.Name, s.Needed, s.Version, s.Applied, s.SetBy, s.Says)
	}
	return text
}

func TestASecretOnItsWay(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.node()
	r.sourced("site", withSecret)
	if _, err := r.recipients("db-url"); fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), `module "site" belongs on no node`) {
		t.Error(err)
	}
	r.assign("site")
	if _, err := r.recipients("db-url"); fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), `there is nobody to seal it to: node "node1": it has not joined, and has no key yet`) {
		t.Error(err)
	}
	r.joins("one")
	r.declared("site")
	const lacks = `needs the secret \"db-url\", which has no value for node1: mesh secret set site db-url --node node1`
	if got := r.planned(); !strings.Contains(got, lacks) {
		t.Error(got)
	}
	if got := r.listed(); got != "site/db-url on node1 needed=true v0 applied=0 by= says=\"where it keeps things\"\n" {
		t.Error(got)
	}
	to, err := r.recipients("db-url")
	if err != nil || to.Version != 1 || len(to.Recipients) != 1 || to.Recipients[0].Recipient != "age1one" || to.Mesh != r.mesh {
		t.Fatalf("%+v %v", to, err)
	}
	value := api.Sealed{Node: testNode, Recipient: "age1one", Sealed: "QUFB"}
	for want, in := range map[string]api.SecretSetIn{
		"the value is sealed to nobody":                                          {Secret: "db-url", Version: 1},
		`what is to be kept for node "nodeone00" is no sealed value`:             {Secret: "db-url", Version: 1, Values: []api.Sealed{{Node: testNode, Recipient: "age1one", Sealed: "hush!"}}},
		"a node is there twice":                                                  {Secret: "db-url", Version: 1, Values: []api.Sealed{value, value}},
		`module "site" declares no secret "db-ulr"`:                              {Secret: "db-ulr", Version: 1, Values: []api.Sealed{value}},
		`somebody has set the secret "db-url" of "site" meanwhile: the next ver`: {Secret: "db-url", Version: 2, Values: []api.Sealed{value}},
		`node "node1" has another key by now`:                                    {Secret: "db-url", Version: 1, Values: []api.Sealed{{Node: testNode, Recipient: "age1two", Sealed: "QUFB"}}},
		`there is no node "node7"`:                                               {Secret: "db-url", Version: 1, Values: []api.Sealed{{Node: "node7", Recipient: "age1one", Sealed: "QUFB"}}},
	} {
		if _, err := r.giveSecret(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	out, err := r.giveSecret(api.SecretSetIn{Secret: "db-url", Version: 1, Values: []api.Sealed{value}})
	if err != nil || len(out.Nodes) != 1 || out.Nodes[0] != "node1" || out.Version != 1 {
		t.Fatalf("%+v %v", out, err)
	}
	if got := r.planned(); strings.Contains(got, "secret") || strings.Contains(got, "QUFB") {
		t.Error(got)
	}
	if _, err := r.declareStep(t.Context(), testNode); err != nil {
		t.Fatal(err)
	}
	m, ok := r.outbox.of(testNode)
	if !ok || m.envelope == nil || !strings.Contains(string(m.envelope.Payload), `"secrets":{"db-url":"QUFB"}`) {
		t.Fatalf("%+v", m)
	}
	r.tells(m, 2)
	if got := r.listed(); got != "site/db-url on node1 needed=true v1 applied=1 by=anna says=\"where it keeps things\"\n" {
		t.Error(got)
	}

	// Given again while the node is away, the one before is what is applied, also to a
	// controller that starts again.
	if _, err := r.giveSecret(api.SecretSetIn{Secret: "db-url", Version: 2, Values: []api.Sealed{{Node: testNode, Recipient: "age1one", Sealed: "QkJC"}}}); err != nil {
		t.Fatal(err)
	}
	r.restart()
	if got := r.listed(); got != "site/db-url on node1 needed=true v2 applied=1 by=anna says=\"where it keeps things\"\n" {
		t.Error(got)
	}
	if _, err := r.declareStep(t.Context(), testNode); err != nil {
		t.Fatal(err)
	}
	m, _ = r.outbox.of(testNode)
	r.tells(m, 3)
	if got := r.listed(); !strings.Contains(got, "v2 applied=2") {
		t.Error(got)
	}

	// A machine with another key is sent nothing that was sealed to the one before.
	r.joins("two")
	if got := r.listed(); !strings.Contains(got, "needed=true v0 applied=0") {
		t.Error(got)
	}
	if got := r.planned(); !strings.Contains(got, lacks) {
		t.Error(got)
	}
	r.tx(func(tx *db.Tx) error {
		return inventorystore.SetTwins(tx, testNode, "two machines say that they are node1")
	})
	if _, err := r.recipients("db-url"); fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), "two machines say that they are node1") {
		t.Error(err)
	}
	r.joins("two")
	r.tx(func(tx *db.Tx) error { return inventorystore.SetTwins(tx, testNode, "") })
	if to, err := r.recipients("idle", "node1", testNode); err != nil || len(to.Recipients) != 1 || to.Recipients[0].Recipient != "age1two" {
		t.Errorf("%+v %v", to, err)
	}
}

// tells is a node that has accepted what is in the outbox, and reports that it is as declared.
func (r *rig) tells(m message, sequence int64) {
	r.t.Helper()
	d := declarationOf(r.t, m)
	said := report.Report{Node: testNode, Sequence: sequence, Outcome: report.OutcomeApplied, Accepted: m.tuple, Applied: m.tuple, Modules: d.Body.Modules}
	for i := range d.Body.Resources {
		digest, err := d.Body.Resources[i].ContentDigest()
		r.must(err)
		said.Resources = append(said.Resources, report.Resource{ID: d.Body.Resources[i].ID, Digest: digest, State: report.StateChanged})
	}
	r.tx(func(tx *db.Tx) error {
		_, err := inventorystore.SaveReport(tx, said, []byte("envelope"), clock.Now().Add(time.Second))
		return err
	})
}

func TestWhatIsForgottenOfASecret(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.node()
	r.sourced("site", withSecret)
	r.assign("site")
	r.joins("one")
	give := func() {
		t.Helper()
		_, err := r.giveSecret(api.SecretSetIn{Secret: "db-url", Version: 1, Values: []api.Sealed{{Node: testNode, Recipient: "age1one", Sealed: "QUFB"}}})
		r.must(err)
	}
	remove := func(secret string, nodes ...string) error {
		_, err := r.answerSecretRemove(t.Context(), api.Who{}, api.SecretRemoveIn{Module: "site", Secret: secret, Nodes: nodes})
		return err
	}
	if err := remove("db-url"); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
	give()
	if err := remove("db-url", "node7"); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
	r.must(remove("db-url", "node1"))
	give()
	_, err := r.answerUnassign(t.Context(), api.Who{}, api.UnassignIn{Module: "site", Node: "node1"})
	r.must(err)
	if got := r.listed(); !strings.Contains(got, "needed=false v1") { // it may be assigned again
		t.Error(got)
	}
	_, err = r.answerModuleRemove(t.Context(), api.Who{}, api.ModuleIn{Module: "site"})
	r.must(err)
	if got := r.listed(); got != "" {
		t.Errorf("of a module that is gone: %s", got)
	}
}

func declarationOf(t *testing.T, m message) declaration.Declaration {
	t.Helper()
	d, err := declaration.Decode(m.envelope.Payload)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
