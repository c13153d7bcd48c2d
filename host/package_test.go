package host

import (
	"fmt"
	"strings"
	"testing"

	"noxmesh/declaration"
	"noxmesh/report"
)

func pkg(id string, t declaration.Traits, after ...string) declaration.Resource {
	return declaration.Resource{ID: "m/" + id, Type: declaration.Package, Traits: &t, After: after}
}

// named is a package in any version, with an id of its own name.
func named(name string) declaration.Resource { return pkg(name, declaration.Traits{Name: name}) }

func at(name, version string) declaration.Resource {
	return pkg(name, declaration.Traits{Name: name, Version: version})
}

// depot puts packages on the machine, and makes apt take them, and no others, from there.
func (r *real) depot(t *testing.T) {
	t.Helper()
	r.sh(t, `mkdir -p /srv/depot && cat >/root/make <<'END'
# NAME VERSION [FIELD…]: a package; what it does when it is configured comes from stdin
set -e
dir=$(mktemp -d); name=$1 version=$2; shift 2
mkdir -p $dir/DEBIAN $dir/usr/share/$name; echo $version >$dir/usr/share/$name/version
printf 'Package: %%s\nVersion: %%s\nArchitecture: amd64\nMaintainer: t <t@localhost>\nDescription: t\n' $name $version >$dir/DEBIAN/control
for field; do echo "$field" >>$dir/DEBIAN/control; done
(echo '#!/bin/sh'; cat) >$dir/DEBIAN/postinst; chmod 755 $dir/DEBIAN/postinst $dir
if [ $name = conf ]; then mkdir $dir/etc; echo $version >$dir/etc/conf; echo /etc/conf >$dir/DEBIAN/conffiles; fi
dpkg-deb -Znone --root-owner-group --build $dir /srv/depot/${name}_$version.deb >/dev/null
rm -r $dir
END
cat >/root/index <<'END'
cd /srv/depot && for f in *.deb; do dpkg-deb -f $f; printf 'Filename: ./%%s\nSize: %%s\nSHA256: %%s\n\n' $f $(stat -c %%s $f) $(sha256sum <$f | cut -d' ' -f1); done >Packages.new && mv Packages.new Packages
END
cat >/root/pids <<'END'
grep -lxE 'apt-get|dpkg|slow.postinst' /proc/[0-9]*/comm 2>/dev/null | cut -d/ -f3
END
cd /root; make() { sh /root/make "$@"; }; n=/dev/null
make one 1.0 <$n; make one 2.0 <$n; make two 1.0 <$n; make conf 1.0 <$n; make conf 2.0 <$n
echo 'echo it hurts >&2; [ -e /root/well ] || exit 3' | make bad 1.0
echo 'if [ "$1" = configure ] && [ -e /root/hold ]; then touch /root/held; while [ -e /root/hold ]; do sleep 0.05; done; fi' | make slow 1.0
make needs 1.0 'Depends: one' <$n; make nope 1.0 'Depends: nowhere' <$n; make foe 1.0 'Conflicts: one' <$n; make with 1.0 'Recommends: two' <$n
make left 1.0 'Depends: right (= 1.0)' <$n; make right 1.0 'Depends: left (= 1.0)' <$n; make left 2.0 'Depends: right (= 2.0)' <$n; make right 2.0 'Depends: left (= 2.0)' <$n
make vital 1.0 'Essential: yes' <$n; make lost 1.0 <$n; make nox-mesh-host 1.0 <$n; make asks 1.0 <$n
sh /root/index; rm lost* /srv/depot/lost*.deb 2>/dev/null; make late 1.0 <$n
rm -f /etc/apt/sources.list /etc/apt/sources.list.d/*; echo 'deb [trusted=yes] file:/srv/depot ./' >/etc/apt/sources.list.d/depot.list
printf 'Acquire::Retries "0";\nAcquire::http::Timeout "5";\n' >/etc/apt/apt.conf.d/99test`)
}

// packages is what the machine has of the packages of the depot.
func (r *real) packages(t testing.TB) string {
	t.Helper()
	return r.sh(t, `dpkg-query -W -f '${Status} ${Package} ${Version}\n' one two conf bad slow needs foe with vital lost late nox-mesh-host 2>/dev/null | grep -v -e 'not-installed' -e config-files; ls /var/lib/dpkg/updates; true`)
}

func TestPackagesOnAMachine(t *testing.T) {
	t.Parallel()
	r := boots(t)
	r.depot(t)
	r.turn(t, "installed, moved and removed", func(t *testing.T) {
		all := list(at("one", "1.0"), named("two"), pkg("arch", declaration.Traits{Name: "with:amd64"}))
		r.says(t, all, "one changed", "two changed", "arch changed")
		r.says(t, all, "one ok", "two ok", "arch ok")
		if got := r.packages(t); got != "install ok installed one 1.0\ninstall ok installed two 1.0\ninstall ok installed with 1.0" {
			t.Error(got)
		}
		all[0] = at("one", "2.0")
		r.says(t, all, "one changed", "two ok", "arch ok")
		all[0] = at("one", "1.0")
		if rep := r.says(t, all, "one changed", "two ok", "arch ok"); rep.Resources[0].Found != "version 2.0" {
			t.Errorf("%+v", rep.Resources[0])
		}
		r.sh(t, "DEBIAN_FRONTEND=noninteractive apt-get -q -y upgrade; dpkg -P two")
		if rep := r.says(t, all, "one changed", "two changed", "arch ok"); rep.Resources[0].Found != "version 2.0" || !rep.Resources[0].Fixed || rep.Resources[1].Found != "nothing" {
			t.Errorf("%+v", rep.Resources)
		}
		r.says(t, list(named("one")), "one ok", "arch removed", "two removed")
		r.says(t, nil, "one removed")
		if got := r.packages(t); got != "" {
			t.Error(got)
		}
	})
	r.turn(t, "the table", r.packageTable)
	r.turn(t, "what others have installed stays", func(t *testing.T) {
		r.sh(t, "apt-get -q -y install one=1.0")
		r.says(t, list(at("one", "2.0")), "one changed")
		r.says(t, nil, "one removed [package one was there before, and stays]")
		r.says(t, list(named("needs"), named("nox-mesh-host")), "needs changed", "nox-mesh-host changed")
		r.says(t, nil, "needs removed", "nox-mesh-host removed [package nox-mesh-host is the host itself, and stays]")
		if got := r.packages(t); got != "install ok installed nox-mesh-host 1.0\ninstall ok installed one 2.0" {
			t.Error(got)
		}
		r.sh(t, "dpkg -P one nox-mesh-host")
	})
	r.turn(t, "never with what needs it", func(t *testing.T) {
		r.says(t, list(named("one"), named("two"), named("vital")), "one changed", "two changed", "vital changed")
		r.sh(t, "apt-get -q -y install needs")
		r.says(t, nil,
			`one failed (remove "package one": needs depends on one; it is removed when nothing on the machine needs it)`, "two removed",
			`vital failed (remove "package vital": this is an essential package; it should not be removed; dpkg --remove vital says more)`)
		r.sh(t, "dpkg -P needs; dpkg -P --force-remove-essential vital")
		r.says(t, nil, "one removed", "vital removed")
	})
	r.turn(t, "configuration files", r.conffiles)
	r.turn(t, "whoever has the lock is waited for", func(t *testing.T) {
		r.sh(t, `perl -e 'use Fcntl; open(F,"+>",$ARGV[0]); my $l=pack("s s l! l! l",F_WRLCK,0,0,0,0); fcntl(F,F_SETLK,$l) or die; open(P,">","/root/pid"); print P $$; close P; sleep 600' /var/lib/dpkg/lock-frontend >/dev/null 2>&1 & until [ -s /root/pid ]; do sleep 0.05; done`)
		rep, _ := r.apply(t, list(named("one")))
		pid := r.sh(t, "cat /root/pid")
		if got := sketch(rep); !strings.HasPrefix(got, fmt.Sprintf("one waiting (change \"package one\": \"/var/lib/dpkg/lock-frontend\" is locked by perl (pid %s); it is tried again when that has ended", pid)) {
			t.Error(got)
		}
		r.sh(t, "kill %s; rm /root/pid", pid)
		r.says(t, list(named("one")), "one changed")
		r.says(t, nil, "one removed")
	})
	r.turn(t, "at another time", r.clocked)
	r.turn(t, "killed in the middle", r.killedInTheMiddle)
	r.turn(t, "killed anywhere", func(t *testing.T) {
		r.sh(t, "apt-get -q update; apt-get -q -y install bad || true; rm -rf /var/lib/apt/lists/*")
		r.sweep(t, []string{"packages."}, func(t testing.TB) string {
			r.sh(t, "rm -rf /var/lib/apt/lists/*") // so that apt knows nothing of what it is to install
			return strings.ReplaceAll(r.packages(t), "install ok half-configured bad 1.0\n", "")
		}, list(at("one", "1.0"), named("two")))
	})
}

// packageTable is what is said of each kind of package: what is declared, what the
// machine is like, and how it is put right again.
func (r *real) packageTable(t *testing.T) {
	for _, c := range []struct {
		name, before string
		all          []declaration.Resource
		says         []string
		after        string
	}{
		{
			name: "nobody has it", all: list(named("nowhere"), named("one")),
			says: []string{`nowhere failed (change "package nowhere": no source of this machine has it; name one that has it in a file below /etc/apt/sources.list.d)`, "one changed"},
		},
		{
			name: "no such version", all: list(at("one", "3.0"), named("two")),
			says: []string{`one failed (change "package one": no source of this machine has version 3.0 of it, but 2.0, 1.0; name one that has it in a file below /etc/apt/sources.list.d)`, "two changed"},
		},
		{
			name: "no such version, and one is there", before: "apt-get -q -y install one=1.0", all: list(at("one", "3.0")),
			says: []string{`one failed (change "package one": no source of this machine has version 3.0 of it, but 2.0, 1.0; name one that has it in a file below /etc/apt/sources.list.d)`}, after: "dpkg -P one",
		},
		{
			name: "another architecture", all: list(pkg("foreign", declaration.Traits{Name: "one:i386"})),
			says: []string{`foreign failed (change "package one:i386": no source of this machine has it; name one that has it in a file below /etc/apt/sources.list.d)`},
		},
		{
			name: "a script fails", all: list(named("bad"), named("one")),
			says:  []string{`bad failed (change "package bad": installed bad package post-installation script subprocess returned error exit status 3: it hurts; dpkg --configure bad says more; it is tried again at the next look)`, "one changed"},
			after: "dpkg -P bad",
		},
		{
			name: "a script has failed", before: "apt-get -q -y install bad || true", all: list(named("bad")),
			says:  []string{`bad failed (change "package bad": installed bad package post-installation script subprocess returned error exit status 3: it hurts; dpkg --configure bad says more; it is tried again at the next look)`},
			after: "dpkg -P bad",
		},
		{
			name: "a script that failed does not any more", before: "apt-get -q -y install bad || true; touch /root/well", all: list(named("bad")),
			says: []string{"bad changed"}, after: "rm /root/well; dpkg -P bad",
		},
		{
			name: "somebody else's is broken", before: "apt-get -q -y install bad || true", all: list(named("one")),
			says: []string{"one changed"}, after: "dpkg -P bad",
		},
		{
			name: "on hold", before: "apt-get -q -y install one=1.0; apt-mark hold one", all: list(at("one", "1.0"), named("two")),
			says:  []string{`one failed (change "package one": it is on hold at version 1.0: somebody has said that nothing changes it; apt-mark unhold one lets the mesh keep it)`, "two changed"},
			after: "apt-mark unhold one; dpkg -P one",
		},
		{
			name: "what it needs is nowhere", all: list(named("nope"), named("one")),
			says: []string{`nope failed (change "package nope": what it needs is not to be had: nope : Depends: nowhere but it is not installable; apt-get install nope says more)`, "one changed"},
		},
		{
			name: "two come only together", before: "apt-get -q -y install left right", all: list(at("left", "1.0"), named("nowhere"), at("right", "1.0")),
			says: []string{"left changed", `nowhere failed (change "package nowhere": no source of this machine has it; name one that has it in a file below /etc/apt/sources.list.d)`, "right changed"}, after: "dpkg -P left right",
		},
		{
			name: "it changes what is on hold", before: "apt-get -q -y install left right; apt-mark hold left", all: list(at("right", "1.0")),
			says:  []string{`right failed (change "package right": what it needs is not to be had: left : Depends: right (= 2.0) but 1.0 is to be installed right : Depends: left (= 1.0) but 2.0 is to be installed; apt-get install right says more)`},
			after: "apt-mark unhold left; dpkg -P left right",
		},
		{
			name: "it would remove another", before: "apt-get -q -y install one needs", all: list(named("foe")),
			says: []string{`foe failed (change "package foe": it cannot be there beside needs one; remove them yourself, or take it out of the declaration)`}, after: "dpkg -P one needs",
		},
		{
			name: "gone from every source", all: list(named("lost"), named("one")),
			says: []string{`lost failed (change "package lost": no source gives what they say that they have: file:/srv/depot/./lost_1.0.deb File not found - /srv/depot/./lost_1.0.deb (2: No such file or directory); where the sources of this machine are right, it is for whoever keeps them)`, "one changed"},
		},
		{
			name: "404 from every mirror", before: serve, all: list(named("two")),
			says:  []string{`two failed (change "package two": no source gives what they say that they have: http://127.0.0.1:8404/a/./two_1.0.deb 404 Not Found [IP: 127.0.0.1 8404]; where the sources of this machine are right, it is for whoever keeps them)`},
			after: "kill $(cat /root/pid); rm /root/pid /etc/apt/sources.list.d/lost.list; mv /root/depot.list /etc/apt/sources.list.d",
		},
		{
			name: "a source is down and the package is right", before: "apt-get -q -y install one=1.0; mv /srv/depot /srv/away; echo 'deb [trusted=yes] http://127.0.0.1:9 ./' >/etc/apt/sources.list.d/down.list", all: list(at("one", "1.0")),
			says: []string{"one ok"}, after: "mv /srv/away /srv/depot; rm /etc/apt/sources.list.d/down.list; dpkg -P one",
		},
		{
			name: "a source is down", before: "echo 'deb [trusted=yes] http://127.0.0.1:9 ./' >/etc/apt/sources.list.d/down.list", all: list(named("nowhere"), named("one")),
			says:  []string{`nowhere failed (change "package nowhere": no source of this machine has it; not all of them answered: Failed to fetch http://127.0.0.1:9/./InRelease Could not connect to 127.0.0.1:9 (127.0.0.1). - connect (111: Connection refused))`, "one changed"},
			after: "rm /etc/apt/sources.list.d/down.list",
		},
		{
			name: "two names of one", all: list(at("one", "1.0"), pkg("again", declaration.Traits{Name: "one:amd64", Version: "2.0"})),
			says: []string{"one changed", `again failed (look at "package one:amd64": it is "package one", of which another version is declared; declare it once)`},
		},
		{
			name: "newer than what apt knows", before: "sh /root/index", all: list(named("late")), says: []string{"late changed"},
		},
	} {
		r.turn(t, c.name, func(t *testing.T) {
			r.sh(t, "(%s) >/dev/null 2>&1", orTrue(c.before))
			r.says(t, c.all, c.says...)
			if c.after != "" {
				r.sh(t, "(%s) >/dev/null 2>&1", c.after)
			}
			if rep, _ := r.apply(t, nil); rep.Outcome != report.OutcomeApplied {
				t.Error(sketch(rep))
			}
			r.sh(t, "dpkg -P one two bad late nope lost 2>/dev/null || true")
			if got := r.packages(t); got != "" {
				t.Fatal(got)
			}
		})
	}
}

// serve is a mirror that lists what it does not have.
const serve = `mv /etc/apt/sources.list.d/depot.list /root; echo 'deb [trusted=yes] http://127.0.0.1:8404/a ./' >/etc/apt/sources.list.d/lost.list
perl -MIO::Socket::INET -e '$l=IO::Socket::INET->new(LocalAddr=>"127.0.0.1:8404",Listen=>9,ReuseAddr=>1) or die; open(P,">","/root/pid"); print P $$; close P;
while($c=$l->accept){while(defined($q=<$c>)){while(($h=<$c>)=~/\S/){} $b="";$s="404 Not Found"; if($q=~m{/Packages }){open(F,"</srv/depot/Packages");local $/;$b=<F>;$s="200 OK"} print $c "HTTP/1.1 $s\r\nContent-Length: ".length($b)."\r\n\r\n$b";$c->flush}}' >/dev/null 2>&1 & until [ -s /root/pid ]; do sleep 0.05; done`

func orTrue(s string) string {
	if s == "" {
		return "true"
	}
	return s
}

func (r *real) conffiles(t *testing.T) {
	keep := list(at("conf", "1.0"))
	r.says(t, keep, "conf changed")
	r.sh(t, "echo mine >/etc/conf")
	r.says(t, keep, "conf ok")
	keep[0] = at("conf", "2.0")
	if rep := r.says(t, keep, "conf changed"); rep.Resources[0].Found != "version 1.0; /etc/conf was changed on the machine and is kept; that of the package is /etc/conf.dpkg-dist" {
		t.Errorf("%+v", rep.Resources[0])
	}
	if got := r.sh(t, "cat /etc/conf /etc/conf.dpkg-dist"); got != "mine\n2.0" {
		t.Error(got)
	}
	replace := list(pkg("conf", declaration.Traits{Name: "conf", Version: "1.0", Conffiles: declaration.ConffilesReplace}))
	if rep := r.says(t, replace, "conf changed"); rep.Resources[0].Found != "version 2.0; /etc/conf was changed on the machine and is replaced; it is /etc/conf.dpkg-old now" {
		t.Errorf("%+v", rep.Resources[0])
	}
	if got := r.sh(t, "cat /etc/conf /etc/conf.dpkg-old"); got != "1.0\nmine" {
		t.Error(got)
	}
	r.says(t, nil, "conf removed")
	if got := r.sh(t, "cat /etc/conf"); got != "1.0" { // removed, and not purged
		t.Error(got)
	}
	r.sh(t, "dpkg -P conf; rm -f /etc/conf*")
}

// declare puts a declaration onto the machine, and applies nothing.
func (r *real) declare(t testing.TB, resources []declaration.Resource) {
	t.Helper()
	cmd := r.Command(t.Context(), "sh", "-c", "cat >/root/d.json")
	cmd.Stdin = strings.NewReader(r.declared(t, resources))
	must(t, cmd.Run())
}

// killedInTheMiddle ends the host while apt-get is at work, which goes on; and
// ends both, which leaves dpkg in the middle.
func (r *real) killedInTheMiddle(t *testing.T) {
	all := list(named("slow"), named("one"))
	start := `rm -f /root/held; touch /root/hold; mesh-host apply /root/d.json >/dev/null 2>&1 & echo $! >/root/host; until [ -e /root/held ]; do sleep 0.05; done; kill -9 $(cat /root/host)`
	r.declare(t, all)
	r.sh(t, "%s", start)
	if got := r.sh(t, "cat /proc/$(sh /root/pids | head -n 1)/cgroup"); !strings.Contains(got, ".scope") {
		t.Errorf("%s: it would end with the service that has started it", got)
	}
	rep, _ := r.apply(t, all)
	if got := sketch(rep); !strings.HasPrefix(got, `slow waiting (change "package slow": "/var/lib/dpkg/lock-frontend" is locked by apt-get (pid `) {
		t.Error(got)
	}
	r.sh(t, "rm /root/hold; while [ -n \"$(sh /root/pids)\" ]; do sleep 0.05; done")
	if rep, _ := r.apply(t, all); rep.Outcome != report.OutcomeApplied {
		t.Error(sketch(rep))
	}
	if got := r.packages(t); got != "install ok installed one 2.0\ninstall ok installed slow 1.0" {
		t.Error(got)
	}
	r.says(t, nil, "one removed", "slow removed")
	r.declare(t, all)
	r.sh(t, "%s; kill -9 $(sh /root/pids); rm /root/hold; while [ -n \"$(sh /root/pids)\" ]; do sleep 0.05; done", start)
	if got := r.packages(t); !strings.Contains(got, "half-configured slow") {
		t.Error(got)
	}
	rep, _ = r.apply(t, all)
	if rep.Outcome != report.OutcomeApplied || !strings.Contains(rep.Resources[0].Found, "dpkg had been ended in the middle of its work, and was let finish it first") {
		t.Errorf("%+v", rep.Resources)
	}
	r.says(t, nil, "one removed", "slow removed")
}

// clocked is what is said where the clock of the machine and that of whoever has made the
// source are years apart: it is that, and the same at each look.
func (r *real) clocked(t *testing.T) {
	for said, dates := range map[string]string{
		"is not valid yet": "Date: Thu, 01 Jan 2099 00:00:00 UTC", "is expired": "Date: Thu, 01 Jan 1970 00:00:01 UTC\nValid-Until: Fri, 02 Jan 1970 00:00:00 UTC",
	} {
		r.sh(t, `rm -rf /var/lib/apt/lists/*; cd /srv/depot; printf '%s\nSHA256:\n %%s %%s Packages\n' $(sha256sum <Packages | cut -d' ' -f1) $(stat -c %%s Packages) >Release`, dates)
		first, _ := r.apply(t, list(named("one")))
		again, _ := r.apply(t, list(named("one")))
		if got := sketch(first); got != sketch(again) || !strings.Contains(got, said) || !strings.Contains(got, "timedatectl says whether the clock of this machine is right") {
			t.Errorf("it says\n%s and then\n%s", got, sketch(again))
		}
	}
	r.sh(t, "rm /srv/depot/Release; rm -rf /var/lib/apt/lists/*")
	r.says(t, list(named("one")), "one changed")
	r.says(t, nil, "one removed")
}
