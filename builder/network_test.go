package builder

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"

	"noxmesh/delivery/build"
	"noxmesh/internal/fault"
)

// TestMain: this program goes into sandboxes, as the builder's does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == listenInside {
		os.Exit(Main(context.Background(), os.Args[1:], "test", os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// networked is a module whose build runs a script that may reach other machines.
func networked(script string) map[string]string {
	return map[string]string{
		"module.json": `{"module": "site", "build": {"run": [["bash", "build.sh"]], "network": true, "artifacts": {"site": {"type": "archive", "path": "dist"}}},
			"resources": [{"id": "site", "type": "archive", "path": "/opt/site", "artifact": "site"}]}`,
		"build.sh": "mkdir dist\n" + script + "\n",
	}
}

// withInternet lets the builder give a network in which site.example is a server
// of this test, and nothing else is.
func (r *rig) withInternet(page string) {
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { fmt.Fprintf(w, "%s of %s", page, q.Host) }))
	r.t.Cleanup(plain.Close)
	r.config.Network = true
	r.config.outside.Resolve = func(_ context.Context, host string) ([]netip.Addr, error) {
		switch host {
		case "site.example":
			return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
		case "inside.example":
			return []netip.Addr{netip.MustParseAddr("10.0.0.7"), netip.MustParseAddr("127.0.0.1")}, nil
		}
		return nil, fault.New(fault.NotFound, "no such host")
	}
	r.config.outside.Dial = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
		if to.String() != "93.184.215.14:80" {
			return nil, fault.New(fault.Unavailable, "nobody is at %s", to)
		}
		d := net.Dialer{}
		return d.DialContext(ctx, "tcp", plain.Listener.Addr().String())
	}
}

// The way of a client through the proxy, by bash alone: what it answers to a request.
const ask = `ask() { exec 9<>/dev/tcp/127.0.0.1/3128; printf '%s\r\nConnection: close\r\n\r\n' "$1" >&9; cat <&9; exec 9>&-; }
`

func TestABuildReachesWhatIsPublicAndNothingElse(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	repo, rig := newRepository(t), newRig(t)
	rig.withInternet("the page")
	address := strings.TrimPrefix(rig.registry.server.URL, "http://")
	script := ask + `set -e
test "$HTTPS_PROXY" = http://127.0.0.1:3128
test "$(grep -c : /proc/net/dev)" = 1
ask "GET http://site.example/page HTTP/1.1
Host: site.example" >dist/plain
grep -q 'the page of site.example' dist/plain
exec 9<>/dev/tcp/127.0.0.1/3128
printf 'CONNECT site.example:80 HTTP/1.1\r\nHost: site.example:80\r\n\r\nGET / HTTP/1.1\r\nHost: tunnelled\r\nConnection: close\r\n\r\n' >&9
cat <&9 >tunnel
grep -q 'the page of tunnelled' tunnel
for no in 169.254.169.254:80 127.0.0.1:80 localhost:80 inside.example:443 10.1.2.3:22 100.64.0.1:80 ` + address + ` site.example:25 '[::1]:80' '[fd00:ec2::254]:80' '[64:ff9b::a00:1]:80'; do
  ask "CONNECT $no HTTP/1.1
Host: $no" >said
  ! grep -q ' 200 ' said || { echo "REACHED $no"; exit 1; }
done
(exec 8<>/dev/tcp/` + strings.Replace(address, ":", "/", 1) + `) 2>/dev/null && exit 1
(exec 8<>/dev/tcp/169.254.169.254/80) 2>/dev/null && exit 1
rm -f dist/*; echo whole >dist/x`
	q := repo.request(repo.commit(networked(script)), "")
	a := rig.build(q)
	log := rig.controller.logOf(q)
	if a.Outcome != build.OutcomeBuilt {
		t.Fatalf("%s %s: %s\n%s", a.Outcome, a.Step, a.Why, log)
	}
	if !a.Manifest.Built.Network {
		t.Error("the closure does not say that it had the network")
	}
	for _, says := range []string{
		"network: site.example:80\n", `network: "169.254.169.254:80" is refused: it is 169.254.169.254`, `network: "inside.example:443" is refused: it is 10.0.0.7, 127.0.0.1`,
		"network: by the proxy", `network: "site.example:25" is refused: a build sends no mail`, `network: "` + address + `" is refused: it is the mesh's own`,
	} {
		if !strings.Contains(log, says) {
			t.Errorf("the log does not say %q:\n%s", says, log)
		}
	}
}

// Without the operator's word there is none, and with it none for a module that
// does not ask.
func TestTheNetworkIsAskedForAndGiven(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	repo, rig := newRepository(t), newRig(t)
	q := repo.request(repo.commit(networked("true")), "")
	if a := rig.build(q); a.Outcome != build.OutcomeEnvironment || !strings.Contains(a.Why, "--network") {
		t.Errorf("%s: %s", a.Outcome, a.Why)
	}
	rig.withInternet("the page")
	q = repo.request(repo.commit(site(map[string]string{"build.sh": "mkdir dist; cp page.html dist/index.html; (exec 9<>/dev/tcp/127.0.0.1/3128) 2>/dev/null && exit 1; test -z \"$HTTP_PROXY\"\n"})), "")
	if a := rig.build(q); a.Outcome != build.OutcomeBuilt || a.Manifest.Built.Network {
		t.Errorf("%s: %s", a.Outcome, a.Why)
	}
}

// What cannot listen inside is never the command's failure.
func TestASandboxThatDoesNotGetItsNetworkIsNoVerdict(t *testing.T) {
	t.Parallel()
	p := &pipes{}
	if _, err := p.openDoor(nil); err != nil || p.door != nil || p.door.shut() != nil {
		t.Error("none is wanted, and one is there")
	}
	var out bytes.Buffer
	for _, args := range [][]string{{listenInside}, {listenInside, "x", "y", "z"}} {
		out.Reset()
		if code := Main(t.Context(), args, "test", &out, &out); code != exitCouldNot {
			t.Errorf("%v: status %d, %s", args, code, out.String())
		}
	}
}
