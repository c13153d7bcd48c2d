package host

import (
	"fmt"
	"strings"
	"testing"

	"noxmesh/declaration"
	"noxmesh/report"
)

func asks(id string, t declaration.Traits, after ...string) declaration.Resource {
	return declaration.Resource{ID: "m/" + id, Type: declaration.Check, Traits: &t, After: after}
}

// answering is a service that answers each GET of a path with the status that it is,
// and takes its time before it does.
const answering = `use IO::Socket::INET; sleep 1;
$l = IO::Socket::INET->new(LocalAddr => "0.0.0.0:8404", Listen => 9, ReuseAddr => 1) or die;
while ($c = $l->accept) { $q = <$c>; while (($h = <$c>) =~ /\S/) {} ($s) = $q =~ m{GET /(\d+)}; print $c "HTTP/1.1 $s x\r\nLocation: http://192.0.2.7/\r\nContent-Length: 6\r\n\r\ns3cr3t"; close $c }
`

func TestChecksOnAMachine(t *testing.T) {
	t.Parallel()
	r := boots(t)
	r.sh(t, "echo nameserver 127.0.0.1 >/etc/resolv.conf; echo '192.0.2.7 rebound' >>/etc/hosts")
	made := list(
		textFile("program", "/srv/answer", answering), textFile("unit", "/etc/systemd/system/answer.service", "[Service]\nExecStart=/usr/bin/perl /srv/answer\n[Install]\nWantedBy=multi-user.target\n"),
		declaration.Resource{ID: "m/run", Type: declaration.Service, After: []string{"m/unit"}, Traits: &declaration.Traits{Unit: "answer.service", State: declaration.Running, RestartOn: []string{"m/program"}}},
	)
	good := list(
		asks("http", declaration.Traits{HTTP: "http://127.0.0.1:8404/200"}), asks("status", declaration.Traits{HTTP: "http://localhost:8404/204", Status: 204}),
		asks("moved", declaration.Traits{HTTP: "http://127.0.0.1:8404/302", Status: 302}), asks("tcp", declaration.Traits{TCP: "127.0.0.1:8404"}),
		asks("dns", declaration.Traits{DNS: "localhost"}), asks("active", declaration.Traits{Unit: "answer.service"}), asks("file", declaration.Traits{File: "/srv/answer"}),
	)
	r.turn(t, "what starts is waited for", func(t *testing.T) {
		r.says(t, append(made, good...), "program changed", "unit changed", "run changed", "http ok", "status ok", "moved ok", "tcp ok", "dns ok", "active ok", "file ok")
		if got := r.sh(t, "grep -c check /var/lib/mesh-host/record || true"); got != "0" {
			t.Errorf("the record has %s lines of checks", got)
		}
		r.says(t, made, "program ok", "unit ok", "run ok")
	})
	r.turn(t, "what is not as it should be", func(t *testing.T) {
		here := r.Address + ":8404"
		bad := list(
			asks("broken", declaration.Traits{HTTP: "http://127.0.0.1:8404/503"}), asks("moved", declaration.Traits{HTTP: "http://127.0.0.1:8404/302"}),
			asks("shut", declaration.Traits{HTTP: "http://127.0.0.1:9/"}), asks("nobody", declaration.Traits{TCP: "127.0.0.1:9"}),
			asks("away", declaration.Traits{HTTP: "http://" + here + "/200"}), asks("rebound", declaration.Traits{HTTP: "http://rebound/"}),
			asks("nowhere", declaration.Traits{DNS: "nowhere.example.org"}), asks("stopped", declaration.Traits{Unit: "nothing.service"}),
			asks("gone", declaration.Traits{File: "/srv/nothing"}), asks("after", declaration.Traits{File: "/srv"}, "m/gone"),
		)
		rep := r.says(t, append(made, bad...), "program ok", "unit ok", "run ok",
			`broken failed (look at "check m/broken": GET http://127.0.0.1:8404/503: it answered 503, want 200)`,
			`moved failed (look at "check m/moved": GET http://127.0.0.1:8404/302: it answered 302, want 200)`,
			`shut failed (look at "check m/shut": GET http://127.0.0.1:9/: connection refused)`,
			`nobody failed (look at "check m/nobody": connect to 127.0.0.1:9: connection refused)`,
			fmt.Sprintf(`away failed (look at "check m/away": GET http://%s/200: %s is not of this machine; mesh-host run --reach %s lets checks ask it, if that is meant)`, here, r.Address, r.Address),
			`rebound failed (look at "check m/rebound": GET http://rebound/: 192.0.2.7 is not of this machine; mesh-host run --reach 192.0.2.7 lets checks ask it, if that is meant)`,
			`nowhere failed (look at "check m/nowhere": find the address of nowhere.example.org: the name service of this machine has no answer)`,
			`stopped failed (look at "check m/stopped": look at the unit nothing.service: it is not running: no such unit; put its file below "/etc/systemd/system", or install the package that brings it)`,
			`gone failed (look at "check m/gone": look at /srv/nothing: there is nothing)`,
			`after blocked ("m/gone" comes first, and is failed)`,
		)
		if rep.Outcome != report.OutcomeFailed || rep.Applied == rep.Accepted {
			t.Errorf("%+v", rep)
		}
		r.sh(t, "echo nameserver %s >/etc/resolv.conf", r.Address)
		r.says(t, list(asks("elsewhere", declaration.Traits{DNS: "db.example.org"})), `elsewhere failed (look at "check m/elsewhere": find the address of db.example.org: the name service of this machine is on another one; mesh-host run --reach with its address lets checks ask it, if that is meant)`, "program removed", "run removed", "unit removed")
	})
	r.turn(t, "what the operator lets them ask", func(t *testing.T) {
		r.declare(t, append(made, asks("away", declaration.Traits{HTTP: "http://" + r.Address + ":8404/200"})))
		if got := r.sh(t, "mesh-host apply /root/d.json --reach 192.0.2.0/24,%s -o json", r.Address); !strings.Contains(got, `"outcome": "applied"`) {
			t.Error(got)
		}
		if got := r.sh(t, "mesh-host apply /root/d.json --reach 192.0.2 2>&1 || true"); !strings.Contains(got, `"192.0.2" is no address, want it as 192.0.2.7 or 10.0.0.0/8`) {
			t.Error(got)
		}
	})
}
