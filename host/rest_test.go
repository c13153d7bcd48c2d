package host

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"noxmesh/document"
	"noxmesh/host/keep"
	"noxmesh/identity"
	"noxmesh/internal/bus"
	"noxmesh/internal/bus/broker"
	"noxmesh/link"
)

// soon is how long a host has to give back what an apply took.
const soon = time.Minute

// BenchmarkAtRest is the memory of a host that is connected over TLS: before it
// was ever told anything, and after it has applied 1,000 files.
func BenchmarkAtRest(b *testing.B) {
	s := newScene(b).filled(1000)
	root := s.root("node")
	carrier := s.connected(root)
	defer carrier.Close(context.Background())
	conn, err := carrier.InProcess(b.Context())
	must(b, err)
	defer conn.Close()
	c := newController(b)
	for _, verb := range []link.Verb{link.VerbHello, link.VerbReport} {
		subject, err := link.Subject(verb, testNode)
		must(b, err)
		must(b, conn.Serve(subject, func(ctx context.Context, m bus.Message) ([]byte, error) { return c.Request(ctx, m.Subject, m.Data) }))
	}
	cmd := exec.CommandContext(b.Context(), s.host, "run", "--root", root)
	must(b, cmd.Start())
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	size := func(field string) float64 {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
		must(b, err)
		var kb float64
		for line := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(line, field+":"); ok {
				_, err := fmt.Sscan(rest, &kb)
				must(b, err)
			}
		}
		return kb / 1024
	}
	time.Sleep(10 * time.Second)
	rest := size("VmRSS")
	a, _ := s.declared(s.declaration(true))
	e, err := document.Canonical(signed(b, key(b, 2), a.Declaration))
	must(b, err)
	subject, err := link.Subject(link.VerbDecl, testNode)
	must(b, err)
	must(b, conn.Publish(b.Context(), subject, e))
	last := filepath.Join(root, s.files[len(s.files)-1])
	for range 300 {
		if _, err = os.Stat(last); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	must(b, err)
	time.Sleep(soon)
	after := size("VmRSS")
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(rest, "rest-MB")
	b.ReportMetric(size("VmHWM"), "peak-MB")
	b.ReportMetric(after, "after-MB")
	b.ReportMetric(after/rest, "x-rest")
}

// connected makes the root a node of a mesh whose broker is there.
func (s *scene) connected(root string) *broker.Broker {
	ca, err := identity.NewCA(time.Now())
	must(s.b, err)
	certificate, err := ca.Issue([]string{"127.0.0.1"}, time.Now(), time.Hour)
	must(s.b, err)
	keys, err := broker.NewKeys()
	must(s.b, err)
	carrier, err := broker.Start(broker.Config{Listen: "127.0.0.1:0", TLS: certificate, Keys: keys})
	must(s.b, err)
	n, err := open(configured(root))
	must(s.b, err)
	defer n.close()
	k, err := keysFor(n.folder, "token")
	must(s.b, err)
	must(s.b, n.folder.SaveIdentity(keep.Identity{
		Sign: hex.EncodeToString(key(s.b, 3).Seed()), Nats: string(k.nats), Seal: k.seal.Reveal(),
	}))
	public, err := k.nats.Public()
	must(s.b, err)
	jwt, err := keys.UserJWT(link.Nodes, testNode, public)
	must(s.b, err)
	must(s.b, n.folder.SaveJoined(keep.Joined{
		Mesh: testMesh, Node: testNode, Name: "n", Root: key(s.b, 1).Public(), Keys: keyDocument(s.b, 1, 2),
		CA: string(ca.PEM()), Broker: carrier.URL(), Registry: "https://127.0.0.1:1", JWT: jwt,
	}))
	return carrier
}
