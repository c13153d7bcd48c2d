package host

import (
	"fmt"
	"slices"
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

// what a command of a check is, and how it is put into the operator's folder.
type ownCommand struct{ name, mode, text string }

// What the operator has put into the folder is run as nobody, or as root where only
// root may execute it, and nothing else is run at all.
func TestCommandsOfChecksOnAMachine(t *testing.T) {
	t.Parallel()
	r := boots(t)
	const folder = "/etc/mesh-host/checks"
	put := func(t *testing.T, all ...ownCommand) {
		t.Helper()
		for _, c := range all {
			r.sh(t, "mkdir -p %s && cat >%s/%s <<'END' && chmod %s %s/%s\n%s\nEND", folder, folder, c.name, c.mode, folder, c.name, c.text)
		}
	}
	runs := func(name string) declaration.Resource {
		return asks(strings.ToLower(strings.ReplaceAll(name, ".", "-")), declaration.Traits{Command: declaration.Command{Name: name}})
	}
	failed := func(name, why string) string {
		return fmt.Sprintf(`%s failed (look at "check m/%s": run the command %s: %s)`, name, name, name, why)
	}
	r.sh(t, "cp /usr/bin/id /usr/local/bin/id-of-root && chmod 4755 /usr/local/bin/id-of-root")
	r.turn(t, "what is right", func(t *testing.T) {
		put(t,
			ownCommand{"Right.sh", "755", "#!/bin/sh\nexit 0"},
			ownCommand{"nobody", "755", `#!/bin/sh
[ "$(id -u):$(id -G)" = 65534:65534 ] && [ "$(id-of-root -u)" = 65534 ] && [ "$(pwd)" = / ] && ! read -r x && ! (echo x >/etc/x) 2>/dev/null &&
	[ "$(env | grep -vc -E '^(PATH|LC_ALL|PWD|_)=')" = 0 ] || { env; id; exit 1; }`},
			ownCommand{"root", "700", `#!/bin/sh
[ "$(id -u)" = 0 ] && [ -z "$HOME" ] && grep -q 'NoNewPrivs:.*0' /proc/self/status`},
			ownCommand{"third", "700", "#!/bin/sh\nn=$(cat /run/n || echo 0); echo $((n+1)) >/run/n; [ $n -ge 2 ]"},
			ownCommand{"leaves", "755", "#!/bin/sh\nsleep 987 & exit 0"},
		)
		rep := r.says(t, list(textFile("new", "/srv/new", "x"), runs("Right.sh"), runs("nobody"), runs("root"), runs("third"), runs("leaves")), "new changed", "right-sh ok", "nobody ok", "root ok", "third ok", "leaves ok")
		// The mesh takes it that a host keeps whatever a controller of its version knows of.
		for _, of := range declaration.Types() {
			if k := declaration.Keeps(of); !of.IsFile() && !slices.Contains(rep.Facts.Capabilities, k) {
				t.Errorf("the machine does not say that it has %s", k)
			}
		}
		for _, k := range []string{declaration.KeepsOwner, declaration.KeepsSwap, declaration.KeepsCheckCommand} {
			if !slices.Contains(rep.Facts.Capabilities, k) {
				t.Errorf("the machine does not say that it has %s", k)
			}
		}
	})
	r.turn(t, "what is not", func(t *testing.T) {
		put(t,
			ownCommand{"wrong", "755", "#!/bin/sh\necho one; printf 'the \\033[31marray\\t is degraded \\n\\n' >&2; exit 2"},
			ownCommand{"silent", "755", "#!/bin/sh\nexit 3"},
			ownCommand{"much", "755", "#!/bin/sh\nyes | head -c 300000 | tr -d '\\n'; exit 4"},
			ownCommand{"ended", "755", "#!/bin/sh\nkill -SEGV $$"},
			ownCommand{"hangs", "755", "#!/bin/sh\necho it waits; sleep 987 & sleep 987"},
			ownCommand{"plain", "644", "#!/bin/sh\nexit 0"},
			ownCommand{"shared", "775", "#!/bin/sh\nexit 0"},
			ownCommand{"theirs", "755", "#!/bin/sh\nexit 0"},
			ownCommand{"text", "755", "exit 0"},
			ownCommand{"nowhere", "755", "#!/usr/bin/nothing\n"},
		)
		r.sh(t, "cd %s && chown 1234 theirs && ln -s Right.sh link && mkdir folder", folder)
		at := func(name string) string { return fmt.Sprintf("%q", folder+"/"+name) }
		r.says(t, list(textFile("new", "/srv/new", "x"), runs("wrong"), runs("silent"), runs("much"), runs("ended"), runs("plain"), runs("shared"), runs("theirs"), runs("text"), runs("nowhere"), runs("link"), runs("folder"), runs("missing")),
			"new ok", failed("wrong", "it ended with 2: the  [31marray  is degraded"), failed("silent", "it ended with 3, and did not say why"),
			failed("much", "it ended with 4: "+strings.Repeat("y", 200)+"…"),
			failed("ended", at("ended")+" was ended by signal: segmentation fault"),
			failed("plain", at("plain")+" is not executable; chmod 0755 "+folder+"/plain; with 0700 it runs as root"),
			failed("shared", at("shared")+" can be written by others than root; chmod go-w "+folder+"/shared"),
			failed("theirs", at("theirs")+" belongs to user 1234, and not to root; chown root "+folder+"/theirs, if root is to answer for it"),
			failed("text", at("text")+" is no program of this machine; begin a script with a line as #!/bin/sh"),
			failed("nowhere", at("nowhere")+" names a program after #! that is not there; install that, or name another"),
			failed("link", at("link")+" is a link; put the program itself there: what a link leads to may be another's"),
			failed("folder", at("folder")+" is no file; put a program of root's there, with mode 0755; with 0700 it runs as root"),
			failed("missing", "there is no "+at("missing")+"; put a program of root's there, with mode 0755; with 0700 it runs as root"),
		)
		rep, _ := r.apply(t, list(runs("hangs")))
		for _, want := range []string{at("hangs") + " had not ended after ", ", and was ended with all that it had started: it waits"} {
			if got := sketch(rep); !strings.Contains(got, want) {
				t.Errorf("%q is not in %s", want, got)
			}
		}
		if left := r.sh(t, "pgrep -f 'sleep 987' || true"); left != "" {
			t.Errorf("what the commands have started goes on: %s", left)
		}
		r.plans(t, list(runs("Right.sh"), runs("missing")), 3,
			`refuse  m/missing  check m/missing: look at "check m/missing": run the command missing: there is no `+at("missing")+"; put a program of root's there, with mode 0755; with 0700 it runs as root",
			"plan: 1 as declared, 0 to make, 0 to change, 0 to remove, 0 to let go of, 0 to report, 1 refused, 0 known later")
	})
	r.turn(t, "whose the folder is", func(t *testing.T) {
		at := fmt.Sprintf("%q", folder)
		r.sh(t, "chmod 777 %s", folder)
		r.says(t, list(runs("nobody"), runs("root")), failed("nobody", at+" can be written by others than root; chmod go-w "+folder), failed("root", at+" can be written by others than root; chmod go-w "+folder))
		r.sh(t, "chmod 700 %s", folder)
		r.says(t, list(runs("nobody"), runs("root")), failed("nobody", fmt.Sprintf("%q", folder+"/nobody")+" cannot be reached by nobody, as whom it runs; chmod 0755 its folders and the program after its #!, or give it mode 0700, with which it runs as root"), "root ok")
		r.sh(t, "chmod 755 %s && mv %s /srv/checks && ln -s /srv/checks %s", folder, folder, folder)
		r.says(t, list(runs("root")), failed("root", at+" is no folder; put a folder there, and no link"))
		r.sh(t, "rm -r /etc/mesh-host")
		r.says(t, list(runs("root")), failed("root", "there is no "+fmt.Sprintf("%q", folder+"/root")+"; put a program of root's there, with mode 0755; with 0700 it runs as root"))
	})
}
