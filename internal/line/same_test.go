package line

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/nats-io/nats.go"

	"noxmesh/api"
	"noxmesh/builder"
	"noxmesh/document"
	"noxmesh/identity"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/link"
	"noxmesh/status"
)

// Item 3: two builds of one commit, by two builders, in other folders, under
// another umask, time zone and locale: one digest; and no machine hears of it.
func TestTwoBuildersMakeOneDigest(t *testing.T) {
	t.Parallel()
	m := begin(t, options{})
	m.opt.programs = folder(t, programs)
	m.addBuilder("b1")
	other := m.addBuilder("b2")
	m.opt.programs = ""
	m.addHost("node1")
	m.untilUp()
	m.needsSandbox()
	other.stop()
	first := m.module("site", tested("site", "page", "a page"))
	m.assign("site", "node1")
	m.auto("site")
	was := moduleOf(m.until("it is out", isOut("site", first, 1)), "site")
	m.builders[0].stop()

	// All that was published is lost; the other builder makes it again.
	must(t, os.RemoveAll(m.path("controller", "registry", "docker")))
	m.until("it is seen to be gone", func(s status.Status) string {
		if !moduleOf(s, "site").Built.Current {
			return ""
		}
		return line(s, "site")
	})
	other.args = append([]string{"-c", `umask 077; exec "$0" "$@"`, other.program}, other.args...)
	other.program, other.env = "/bin/sh", []string{"TZ=Asia/Kathmandu", "LC_ALL=tr_TR.UTF-8", "LANG=tr_TR.UTF-8", "HOME=/nonexistent"}
	other.start()
	is := moduleOf(m.until("it is built again", isOut("site", first, 1)), "site")
	if is.Built.Build != was.Built.Build || is.Built.Content != was.Built.Content || is.Finding != "" {
		t.Errorf("one commit is %+v and %+v, finding %q", was.Built, is.Built, is.Finding)
	}
	var all []api.BuildOut
	m.poll("the second build is answered, which comes after its artifacts", func() string {
		if all = do(m, api.Builds(), api.BuildsIn{Module: "site"}).Builds; all[0].Build == "" {
			return all[0].State
		}
		return ""
	})
	if len(all) != 2 || all[0].Builder == all[1].Builder || all[0].Build != all[1].Build || all[0].Verdict != "fit" {
		t.Errorf("the builds are %+v", all)
	}
	if why := m.differs("node1", "1/1"); why != "" {
		t.Error(why)
	}

	// An answer that is said again is the same fact.
	m.answerAgain(all[0].Request, "b2")
	if again := do(m, api.Builds(), api.BuildsIn{Module: "site"}).Builds; !reflect.DeepEqual(again, all) {
		t.Errorf("an answer said again made %+v of %+v", again, all)
	}
}

// login is what a builder keeps.
type login struct {
	ID     string `json:"id"`
	CA     string `json:"ca"`
	Broker string `json:"broker"`
	JWT    string `json:"jwt"`
	Nats   string `json:"nats"`
}

// answerAgain sends the answer to a request once more, as the builder would whose receipt was lost.
func (m *mesh) answerAgain(request, name string) {
	m.t.Helper()
	var l login
	for _, file := range []string{"identity.json", "joined.json"} {
		b, err := os.ReadFile(m.path("builders", name, file))
		must(m.t, err)
		must(m.t, json.Unmarshal(b, &l))
	}
	var envelope string
	d, err := db.Open(m.t.Context(), "sqlite:"+m.path("controller", "record.db"))
	must(m.t, err)
	must(m.t, d.Read(m.t.Context(), func(tx *db.Tx) error {
		envelope, _, err = db.One(tx, db.Text, `SELECT envelope FROM answer WHERE request = $1`, request)
		return err
	}))
	must(m.t, d.Close())
	config, err := identity.ClientTLS([]byte(l.CA))
	must(m.t, err)
	nc, err := nats.Connect(l.Broker, nats.UserJWTAndSeed(l.JWT, l.Nats), nats.Secure(config), nats.TLSHandshakeFirst(), nats.CustomInboxPrefix(link.Inbox(l.ID)))
	must(m.t, err)
	defer nc.Close()
	reply, err := nc.Request("answer."+l.ID, []byte(envelope), *patience)
	must(m.t, err)
	signed, err := link.DecodeEnvelope(reply.Data)
	if err != nil {
		m.t.Fatalf("%v: %v", err, reply.Header)
	}
	receipt, err := document.Decode[link.Receipt]("receipt", signed.Payload, document.Limits{Bytes: 1 << 16, Depth: 4})
	must(m.t, err)
	if receipt.For != request || receipt.Stop != "" {
		m.t.Errorf("the receipt is %+v", receipt)
	}
}

// TW1: a token is good once. But a join whose answer was lost on the way is
// answered again to whoever made the keys, until they have been heard of.
func TestATokenIsGoodOnce(t *testing.T) {
	t.Parallel()
	m := begin(t, options{})
	text := do(m, api.BuilderAdd(), api.BuilderIn{Builder: "b"}).Token
	token, err := identity.ParseToken(text)
	must(t, err)
	config := builder.Config{State: m.path("b"), Version: "test"}
	joined := filepath.Join(config.State, "joined.json")
	must(t, builder.Join(t.Context(), config, token))
	must(t, os.Remove(joined)) // the answer never came
	if err := builder.Join(t.Context(), builder.Config{State: m.path("thief"), Version: "test"}, token); fault.KindOf(err) != fault.Denied {
		t.Errorf("another, with the token of one that has joined: %v", err)
	}
	must(t, builder.Join(t.Context(), config, token))
	p := m.part("b", nil, "")
	p.run = func(ctx context.Context) error {
		return builder.Run(ctx, builder.Config{State: config.State, Version: "test", Log: p.logger()})
	}
	m.builders = append(m.builders, p)
	p.start()
	m.untilUp()
	p.stop()
	must(t, os.Remove(joined))
	if err := builder.Join(t.Context(), config, token); fault.KindOf(err) != fault.Denied {
		t.Errorf("with the token of one that has been heard of: %v", err)
	}
}
