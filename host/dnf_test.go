package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"noxmesh/declaration"
	booted "noxmesh/internal/machine"
	"noxmesh/report"
)

// bootsDnf is a machine whose packages dnf keeps. It is a Debian: what says that dpkg keeps
// them is put aside, and Debian's rpm is told where every other has its database.
func bootsDnf(t *testing.T) *real {
	t.Helper()
	net, m := booted.RaiseWith(t, "dnf", "rpm", "createrepo-c")
	status := filepath.Join(m.Root, "var/lib/dpkg/status")
	must(t, os.Rename(status, status+".aside"))
	must(t, os.MkdirAll(filepath.Join(m.Root, "etc/rpm"), 0o755))
	must(t, os.WriteFile(filepath.Join(m.Root, "etc/rpm/macros"), []byte("%_dbpath /var/lib/rpm\n"), 0o644))
	return boot(t, net, m, "podman")
}

// rpms makes packages, and a repository of them that is the only one.
func (r *real) rpms(t *testing.T) {
	t.Helper()
	r.sh(t, `mkdir -p /srv/depot /etc/yum.repos.d /root/build; rpm --initdb; cat >/root/make <<'END'
# NAME VERSION [FIELD…]: a package; scripts and further files come from stdin
set -e
name=$1 version=$2 spec=/root/build/$1-$2.spec; shift 2
{ printf 'Name: %%s\nVersion: %%s\nRelease: 1\nSummary: t\nLicense: t\nBuildArch: noarch\n' $name $version
for field; do echo "$field"; done
printf '%%%%description\nt\n%%%%install\nmkdir -p %%%%buildroot/usr/share/%%s %%%%buildroot/etc; cd %%%%buildroot; echo %%s >usr/share/%%s/version; echo %%s >etc/conf; echo %%s >etc/other\n' $name $version $name $version $version
case $name in conf) more='%%config(noreplace) /etc/conf
%%config /etc/other';; clash) more='/etc/clash'; echo 'echo clash >etc/clash';; two) more=/etc/clash; echo 'echo two >etc/clash';; *) more=;; esac
printf '%%%%files\n/usr/share/%%s\n%%s\n' $name "$more"; cat; } >$spec
rpmbuild -bb --quiet -D '_topdir /root/build' -D '_rpmdir /srv/depot' -D '_rpmfilename %%{NAME}-%%{VERSION}.rpm' -D '_binary_payload w0.gzdio' -D '__os_install_post %%{nil}' -D '_unpackaged_files_terminate_build 0' $spec >/dev/null 2>&1
END
cat >/root/index <<'END'
cd /srv/depot && createrepo_c -q --no-database --simple-md-filenames . && rm -rf .olddata
END
cat >/root/pids <<'END'
grep -lxE 'dnf|rpm' /proc/[0-9]*/comm 2>/dev/null | cut -d/ -f3
END
cd /root; make() { sh /root/make "$@"; }; n=/dev/null
make base 1.0 'Provides: /bin/sh' 'Provides: system-release = 9' <$n
make one 1.0 <$n; make one 2.0 'Epoch: 1' <$n; make two 1.0 <$n; make conf 1.0 <$n; make conf 2.0 <$n
printf '%%%%post\necho it hurts >&2; [ -e /root/well ] || exit 3\n' | make bad 1.0
printf '%%%%pre\necho it hurts >&2; exit 3\n' | make worse 1.0
for v in 1.0 2.0; do printf '%%%%post\nif [ -e /root/hold ]; then touch /root/held; while [ -e /root/hold ]; do sleep 0.05; done; fi\n' | make slow $v; done
make needs 1.0 'Requires: one' <$n; make nope 1.0 'Requires: nowhere' <$n; make foe 1.0 'Conflicts: one' <$n; make old 1.0 <$n; make heir 1.0 'Obsoletes: old' <$n; make with 1.0 'Recommends: two' <$n
make left 1.0 'Requires: right = 1.0' <$n; make right 1.0 'Requires: left = 1.0' <$n; make left 2.0 'Requires: right = 2.0' <$n; make right 2.0 'Requires: left = 2.0' <$n
make clash 1.0 <$n; make lost 1.0 <$n; make vital 1.0 <$n
sh /root/index; rm /srv/depot/lost*; make late 1.0 <$n
printf '[main]\ngpgcheck=1\nplugins=0\nskip_if_unavailable=1\n' >/etc/dnf/dnf.conf; echo vital >/etc/dnf/protected.d/vital.conf
printf '[depot]\nname=depot\nbaseurl=file:///srv/depot\ngpgcheck=0\n' >/etc/yum.repos.d/depot.repo
dnf -q -y install base`)
}

// red is what the machine has of the packages of the depot.
func (r *real) red(t testing.TB) string {
	t.Helper()
	return r.sh(t, `rpm -qa --qf '%%{NAME} %%{VERSION}\n' | grep -v '^base ' | sort`)
}

func TestDnfOnAMachine(t *testing.T) {
	t.Parallel()
	r := bootsDnf(t)
	r.rpms(t)
	r.turn(t, "installed, moved and removed", func(t *testing.T) {
		all := list(at("one", "1.0-1"), named("two"), pkg("arch", declaration.Traits{Name: "with:x86_64"}))
		r.says(t, all, "one changed", "two changed", "arch changed")
		r.says(t, all, "one ok", "two ok", "arch ok")
		if got := r.red(t); got != "one 1.0\ntwo 1.0\nwith 1.0" {
			t.Error(got)
		}
		r.plans(t, all, 0, `plan: 3 as declared, 0 to make, 0 to change, 0 to remove, 0 to let go of, 0 to report, 0 refused, 0 known later`)
		all[0] = at("one", "1:2.0-1")
		r.says(t, all, "one changed", "two ok", "arch ok")
		all[0] = at("one", "1.0-1")
		if rep := r.says(t, all, "one changed", "two ok", "arch ok"); rep.Resources[0].Found != "version 1:2.0-1" {
			t.Errorf("%+v", rep.Resources[0])
		}
		r.sh(t, "dnf -q -y upgrade; rpm -e two")
		if rep := r.says(t, all, "one changed", "two changed", "arch ok"); rep.Resources[0].Found != "version 1:2.0-1" || !rep.Resources[0].Fixed || rep.Resources[1].Found != "nothing" {
			t.Errorf("%+v", rep.Resources)
		}
		r.says(t, list(named("one")), "one ok", "arch removed", "two removed")
		r.says(t, nil, "one removed")
		if got := r.red(t); got != "" {
			t.Error(got)
		}
	})
	r.turn(t, "the table", r.rpmTable)
	r.turn(t, "a version that did not come is given up", func(t *testing.T) {
		r.says(t, list(at("one", "1.0-1")), "one changed")
		if rep, _ := r.apply(t, list(at("one", "3.0-1"))); rep.Outcome != report.OutcomeFailed {
			t.Error(sketch(rep))
		}
		r.sh(t, "mv /etc/yum.repos.d/depot.repo /root") // nothing more is to be had
		r.says(t, list(at("one", "1.0-1")), "one ok")
		r.sh(t, "mv /root/depot.repo /etc/yum.repos.d")
		r.says(t, nil, "one removed")
	})
	r.turn(t, "what others have installed stays", func(t *testing.T) {
		r.sh(t, "dnf -q -y install one-1.0-1")
		r.says(t, list(at("one", "1:2.0-1"), named("nox-mesh-host")), "one changed",
			`nox-mesh-host failed (look at "package nox-mesh-host": the host is delivered as a Debian package, and dnf keeps the packages of this machine; take it out of the declaration of this machine, and install the host there by hand)`)
		r.says(t, nil, "one removed [package one was there before, and stays]")
		if got := r.red(t); got != "one 2.0" {
			t.Error(got)
		}
		r.sh(t, "rpm -e one")
	})
	r.turn(t, "never with what needs it", func(t *testing.T) {
		r.says(t, list(named("one"), named("two"), named("vital")), "one changed", "two changed", "vital changed")
		r.sh(t, "dnf -q -y install needs")
		r.says(t, nil,
			`one failed (remove "package one": needs-1.0-1.noarch needs one; it is removed when nothing on the machine needs it)`, "two removed",
			`vital failed (remove "package vital": it is protected by "/etc/dnf/protected.d/vital.conf"; take it out there; dnf would not remove it either)`)
		r.sh(t, "rpm -e needs; rm /etc/dnf/protected.d/vital.conf")
		r.says(t, nil, "one removed", "vital removed")
	})
	r.turn(t, "configuration files", r.rpmConffiles)
	r.turn(t, "whoever has the lock is waited for", func(t *testing.T) {
		r.sh(t, `perl -e 'use Fcntl; open(F,"+>",$ARGV[0]); my $l=pack("s s l! l! l",F_WRLCK,0,0,0,0); fcntl(F,F_SETLK,$l) or die; open(P,">","/root/pid"); print P $$; close P; sleep 600' /var/lib/rpm/.rpm.lock >/dev/null 2>&1 & until [ -s /root/pid ]; do sleep 0.05; done`)
		rep, _ := r.apply(t, list(named("one")))
		pid := r.sh(t, "cat /root/pid")
		if got := sketch(rep); !strings.HasPrefix(got, fmt.Sprintf("one waiting (change \"package one\": \"/var/lib/rpm/.rpm.lock\" is locked by perl (pid %s); it is tried again when that has ended", pid)) {
			t.Error(got)
		}
		r.sh(t, "kill %s; rm /root/pid", pid)
		r.says(t, list(named("one")), "one changed")
		r.says(t, nil, "one removed")
	})
	r.turn(t, "killed in the middle", r.dnfIsKilled)
	r.turn(t, "killed while it mends", r.rpmMends)
	r.turn(t, "the power is cut before it is on the disk", func(t *testing.T) {
		if _, killed := r.apply(t, list(named("one")), "MESH_CRASH=resource.machine.seal#1:before"); !killed {
			t.Error("it was not killed")
		}
		r.sh(t, ": >/usr/share/one/version") // as a cut leaves what rpm has written and nobody has synced
		r.says(t, list(named("one")), "one changed")
		if got := r.sh(t, "cat /usr/share/one/version"); got != "2.0" {
			t.Error(got)
		}
		r.says(t, nil, "one removed")
	})
	r.turn(t, "killed anywhere", func(t *testing.T) {
		// What dnf knows is put back each time, so that it knows nothing of what it is to install.
		r.sh(t, "mv /srv/depot/one* /root; sh /root/index; dnf -q --refresh makecache; cp -a /var/cache/dnf /root/stale; mv /root/one* /srv/depot; sh /root/index")
		r.sweep(t, []string{"packages."}, func(t testing.TB) string {
			r.sh(t, "rm -rf /var/cache/dnf; cp -a /root/stale /var/cache/dnf")
			return r.red(t)
		}, list(at("one", "1.0-1"), named("two")))
	})
}

// rpmMends is that a host which is killed while it makes one of two versions of a package
// goes on with that.
func (r *real) rpmMends(t *testing.T) {
	for point, version := range map[string]string{
		"packages.rpm.repeat#1:before": "1:2.0-1", "packages.rpm.repeat#1:after": "1:2.0-1",
		"packages.rpm.drop#1:before": "1.0-1", "packages.rpm.drop#1:after": "1.0-1", "packages.rpm.repeat#2:before": "1.0-1",
	} {
		all := list(at("one", version))
		r.sh(t, "rpm -i --force-debian --force /srv/depot/one-1.0.rpm /srv/depot/one-2.0.rpm 2>/dev/null")
		if got := r.red(t); got != "one 1.0\none 2.0" {
			t.Fatal(got)
		}
		if _, killed := r.apply(t, all, "MESH_CRASH="+point); !killed {
			t.Errorf("%s: it was not killed", point)
		}
		r.says(t, all, "one changed")
		r.says(t, all, "one ok")
		if got := r.sh(t, "rpm -q one; cat /usr/share/one/version"); !strings.HasPrefix(got, "one-"+strings.TrimPrefix(version, "1:")) || !strings.HasPrefix(strings.TrimPrefix(version, "1:"), got[strings.LastIndexByte(got, '\n')+1:]) {
			t.Errorf("%s: %s", point, got)
		}
		r.says(t, nil, "one removed [package one was there before, and stays]")
		r.sh(t, "rpm -e one")
	}
}

// rpmTable is what is said of each kind of package: what is declared, what the machine is
// like, and how it is put right again.
func (r *real) rpmTable(t *testing.T) {
	for _, c := range []struct {
		name, before string
		all          []declaration.Resource
		says         []string
		after        string
	}{
		{
			name: "nobody has it, or that version", all: list(named("nowhere"), at("one", "3.0-1"), named("two")),
			says: []string{
				`nowhere failed (change "package nowhere": no repository of this machine has it; name one that has it in a file below /etc/yum.repos.d)`,
				`one failed (change "package one": no repository of this machine has version 3.0-1 of it, but 1:2.0-1, 1.0-1; name one that has it in a file below /etc/yum.repos.d)`, "two changed",
			},
		},
		{
			name: "a version without a release, what another one provides, and another architecture", all: list(at("one", "1.0"), named("system-release"), pkg("foreign", declaration.Traits{Name: "two:i686"})),
			says: []string{
				`one failed (change "package one": version 1.0 has no release; declare it with its release, as rpm has it: 1.0-1 for one)`,
				`system-release failed (change "package system-release": no package is called that, and dnf takes what provides it; dnf repoquery --whatprovides system-release says what does: declare that)`,
				`foreign failed (change "package two:i686": no repository of this machine has it; name one that has it in a file below /etc/yum.repos.d)`,
			},
		},
		{
			name: "scripts fail", all: list(named("bad"), named("worse"), named("one")),
			says: []string{
				`bad failed (change "package bad": its script %post failed, exit status 3: it hurts; it is tried again at the next look)`,
				`worse failed (change "package worse": its script %prein failed, exit status 3: it hurts; it is tried again at the next look)`, "one changed",
			},
		},
		{
			name: "on hold", before: "dnf -q -y install one-1.0-1 two; echo 'one-0:1.0-1.*' >/etc/dnf/plugins/versionlock.list; cp /etc/dnf/dnf.conf /root; echo 'excludepkgs=t*,x' >>/etc/dnf/dnf.conf", all: list(at("one", "1:2.0-1"), at("two", "3.0-1")),
			says: []string{
				`one failed (change "package one": it is on hold at version 1.0-1: somebody has said that nothing changes it; dnf versionlock delete 'one-0:1.0-1.*' lets the mesh keep it)`,
				`two failed (change "package two": it is on hold at version 1.0-1: somebody has said that nothing changes it; taking t* out of what /etc/dnf/dnf.conf excludes lets the mesh keep it)`,
			},
			after: "rm /etc/dnf/plugins/versionlock.list",
		},
		{
			name: "left out", all: list(named("two")), // as it was found before
			says:  []string{`two failed (change "package two": somebody has excluded it, or this version; dnf versionlock list says what is locked, and excludepkgs in /etc/dnf/dnf.conf and in the files below /etc/yum.repos.d what is left out)`},
			after: "cp /root/dnf.conf /etc/dnf",
		},
		{
			name: "what it needs is nowhere", all: list(named("nope"), named("one")),
			says: []string{`nope failed (change "package nope": dnf finds no way to it: nothing provides nowhere needed by nope-1.0-1.noarch; dnf install nope says more)`, "one changed"},
		},
		{
			name: "two come only together", before: "dnf -q -y install left right", all: list(at("left", "1.0-1"), named("nowhere"), at("right", "1.0-1")),
			says: []string{"left changed", `nowhere failed (change "package nowhere": no repository of this machine has it; name one that has it in a file below /etc/yum.repos.d)`, "right changed"}, after: "rpm -e left right",
		},
		{
			name: "it would remove another", before: "dnf -q -y --setopt=obsoletes=0 install one old", all: list(named("heir"), named("foe")),
			says: []string{
				`heir failed (change "package heir": it cannot be there beside old; remove them yourself, or take it out of the declaration)`,
				`foe failed (change "package foe": dnf finds no way to it: problem with installed package one-1:2.0-1.noarch; package foe-1.0-1.noarch conflicts with one provided by one-1:2.0-1.noarch; package foe-1.0-1.noarch conflicts with one provided by one-1.0-1.noarch; dnf install foe says more)`,
			},
		},
		{
			name: "two have one file", before: "dnf -q -y install two", all: list(named("clash")),
			says: []string{`clash failed (change "package clash": file /etc/clash from install of clash-1.0-1.noarch conflicts with file from package two-1.0-1.noarch; remove the other one yourself, or take one out of the declaration)`},
		},
		{
			name: "gone from every repository", all: list(named("lost")),
			says: []string{`lost failed (change "package lost": no repository gives what they say that they have: Error opening /srv/depot/lost-1.0.rpm: No such file or directory; Package "lost-1.0-1.noarch" from local repository "depot" has incorrect checksum; where the repositories of this machine are right, it is for whoever keeps them)`},
		},
		{
			name: "nobody has signed it", before: "sed -i s/gpgcheck=0/gpgcheck=1/ /etc/yum.repos.d/depot.repo; echo gpgkey=file:///nobody >>/etc/yum.repos.d/depot.repo", all: list(named("one")),
			says:  []string{`one failed (change "package one": its signature is not one that this machine trusts: Package one-2.0.rpm is not signed; the repository's file below /etc/yum.repos.d says by gpgkey who signs)`},
			after: "sed -i s/gpgcheck=1/gpgcheck=0/ /etc/yum.repos.d/depot.repo",
		},
		{
			name: "a repository is down", before: downRepo + " >/etc/yum.repos.d/down.repo", all: list(named("nowhere"), named("one")),
			says: []string{
				`nowhere failed (change "package nowhere": no repository of this machine has it; not all of them answered: Curl error (7): Couldn't connect to server for http://127.0.0.1:9/repodata/repomd.xml [Failed to connect to 127.0.0.1 port 9: Couldn't connect to server]; repository 'down' gives no metadata)`, "one changed",
			},
			after: "true",
		},
		{
			name: "a repository that must answer is down", before: "rpm -e one; dnf -q -y install one-1.0-1; echo skip_if_unavailable=0 >>/etc/yum.repos.d/down.repo", all: list(at("one", "1.0-1"), named("two")),
			says:  []string{"one ok", `two failed (change "package two": a repository does not answer: Curl error (7): Couldn't connect to server for http://127.0.0.1:9/repodata/repomd.xml [Failed to connect to 127.0.0.1 port 9: Couldn't connect to server]; repository 'down' gives no metadata; where the repositories of this machine are right, it is for whoever keeps them; skip_if_unavailable=1 has dnf go on without one)`},
			after: "rm /etc/yum.repos.d/down.repo",
		},
		{
			name: "no room", before: "mkdir -p /usr/share/one; mount -t tmpfs -o size=4k small /usr/share/one; head -c 1M /dev/zero >/usr/share/one/full || true", all: list(named("one"), named("two")),
			says: []string{`one failed (change "package one": no space left on device: less than 1 MiB free of less than 1 MiB on "/usr/share/one"; make room there)`, "two changed"}, after: "umount /usr/share/one",
		},
		{
			name: "rpm's database is shut", before: "mount -t tmpfs -o size=8m small /mnt && cp -a /var/lib/rpm/. /mnt/ && mount --bind /mnt /var/lib/rpm && umount /mnt && mount -o remount,ro /var/lib/rpm", all: list(named("one")),
			says: []string{`one failed (change "package one": read-only file system: "/var/lib/rpm" is mounted read-only; dmesg may say why, then: mount -o remount,rw /var/lib/rpm)`}, after: "umount /var/lib/rpm",
		},
		{
			name: "newer than what dnf knows", before: "sh /root/index", all: list(named("late")), says: []string{"late changed"},
		},
	} {
		r.turn(t, c.name, func(t *testing.T) {
			r.sh(t, "(%s) >/dev/null 2>&1", orTrue(c.before))
			r.says(t, c.all, c.says...)
			r.sh(t, "(%s) >/dev/null 2>&1", orTrue(c.after))
			if rep, _ := r.apply(t, nil); rep.Outcome != report.OutcomeApplied {
				t.Error(sketch(rep))
			}
			r.sh(t, "rpm -qa | grep -v '^base' | xargs -r rpm -e 2>/dev/null")
		})
	}
}

const downRepo = `printf '[down]\nname=down\nbaseurl=http://127.0.0.1:9/\ngpgcheck=0\nretries=1\n'`

// rpmConffiles is what becomes of configuration files that somebody has changed.
func (r *real) rpmConffiles(t *testing.T) {
	keep := list(at("conf", "1.0-1"))
	r.says(t, keep, "conf changed")
	r.sh(t, "echo mine >/etc/conf; echo mine >/etc/other")
	r.says(t, keep, "conf ok")
	keep[0] = at("conf", "2.0-1")
	if rep := r.says(t, keep, "conf changed"); rep.Resources[0].Found != "version 1.0-1; /etc/conf was changed on the machine and is kept; that of the package is /etc/conf.rpmnew; /etc/other was changed on the machine and is replaced; it is /etc/other.rpmsave now" {
		t.Errorf("%+v", rep.Resources[0])
	}
	if got := r.sh(t, "cat /etc/conf /etc/conf.rpmnew /etc/other /etc/other.rpmsave"); got != "mine\n2.0\n2.0\nmine" {
		t.Error(got)
	}
	for _, point := range []string{"", "packages.conffile.replace#1:before", "packages.conffile.replace#1:after"} {
		r.sh(t, "rpm -e conf; rm -f /etc/conf* /etc/other*; dnf -q -y install conf-1.0-1; echo mine >/etc/conf")
		replace := list(pkg("conf", declaration.Traits{Name: "conf", Version: "2.0-1", Conffiles: declaration.ConffilesReplace}))
		if point != "" {
			if _, killed := r.apply(t, replace, "MESH_CRASH="+point); !killed {
				t.Errorf("%s: it was not killed", point)
			}
		}
		if rep := r.says(t, replace, "conf changed"); point == "" && rep.Resources[0].Found != "version 1.0-1; /etc/conf was changed on the machine and is replaced; it is /etc/conf.rpmsave now" {
			t.Errorf("%+v", rep.Resources[0])
		}
		if got := r.sh(t, "cat /etc/conf /etc/conf.rpmsave; ls /etc/conf*"); got != "2.0\nmine\n/etc/conf\n/etc/conf.rpmsave" {
			t.Errorf("%s: %s", point, got)
		}
	}
	r.says(t, nil, "conf removed")
	r.sh(t, "rm -f /etc/conf* /etc/other*")
}

// dnfIsKilled ends the host while dnf is at work, which goes on; and ends both, which leaves
// a package that rpm has, and whose script has not run; or one that is there twice, at two
// versions or at one.
func (r *real) dnfIsKilled(t *testing.T) {
	all := list(at("slow", "1.0-1"), named("one"))
	start := `rm -f /root/held; touch /root/hold; mesh-host apply /root/d.json >/dev/null 2>&1 & echo $! >/root/host; until [ -e /root/held ]; do sleep 0.05; done; kill -9 $(cat /root/host)`
	both := start + "; kill -9 $(sh /root/pids); rm /root/hold; while [ -n \"$(sh /root/pids)\" ]; do sleep 0.05; done"
	r.declare(t, all)
	r.sh(t, "%s", start)
	if got := r.sh(t, "cat /proc/$(sh /root/pids | head -n 1)/cgroup"); !strings.Contains(got, ".scope") {
		t.Errorf("%s: it would end with the service that has started it", got)
	}
	rep, _ := r.apply(t, all)
	if got := sketch(rep); !strings.HasPrefix(got, `slow waiting (change "package slow": "/var/lib/rpm/.rpm.lock" is locked by dnf (pid `) {
		t.Error(got)
	}
	r.sh(t, "rm /root/hold; while [ -n \"$(sh /root/pids)\" ]; do sleep 0.05; done")
	if rep, _ := r.apply(t, all); rep.Outcome != report.OutcomeApplied {
		t.Error(sketch(rep))
	}
	r.says(t, nil, "one removed", "slow removed")
	for _, c := range []struct {
		version, there, found string
		kills                 int
	}{
		{"1.0-1", "slow 1.0", "version 1.0-1, and nobody has seen its installation come to its end", 1},
		{"2.0-1", "slow 1.0\nslow 2.0", "it was there as 1.0-1 and 2.0-1: dnf had been ended in the middle of its work", 1},
		{"1.0-1", "slow 1.0\nslow 2.0", "it was there as 2.0-1 and 1.0-1: dnf had been ended in the middle of its work", 1},
		{"2.0-1", "slow 2.0\nslow 2.0", "it was there as 2.0-1 and 2.0-1: dnf had been ended in the middle of its work", 2},
	} {
		if c.kills > 1 {
			r.says(t, nil, "one removed", "slow removed")
		}
		all[0] = at("slow", c.version)
		for range c.kills {
			r.declare(t, all)
			r.sh(t, "%s", both)
		}
		if got := r.red(t); !strings.Contains(got, c.there) {
			t.Error(got)
		}
		rep, _ = r.apply(t, all)
		if rep.Outcome != report.OutcomeApplied || !strings.Contains(rep.Resources[0].Found, c.found) {
			t.Errorf("%+v", rep.Resources)
		}
		if got := r.red(t); got != "one 2.0\nslow "+strings.TrimSuffix(c.version, "-1") {
			t.Error(got)
		}
	}
	r.says(t, nil, "one removed", "slow removed")
}
