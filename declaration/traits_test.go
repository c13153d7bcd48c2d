package declaration_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"noxmesh/declaration"
	"noxmesh/document"
)

// with is the whole declaration with these resources in the place of its own.
func with(t *testing.T, resources string) []byte {
	t.Helper()
	d := whole()
	d.Body.Resources = []declaration.Resource{}
	b, err := document.Canonical(d)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(strings.Replace(string(b), `"resources":[]`, `"resources":[`+resources+`]`, 1))
}

func TestEveryRuleOfWhatIsNoFile(t *testing.T) {
	t.Parallel()
	const user = `{"id":"board/user","type":"user","name":"board"}`
	for in, want := range map[string]string{
		user: "",
		`{"id":"board/user","type":"user","name":"board","uid":712,"group":"www","groups":["a","b"],"home":"/srv","shell":"/bin/sh","drift":"report"}`: "",
		`{"id":"board/group","type":"group","name":"board","gid":712},` + user:                                                                         "", // a user and a group may have one name
		`{"id":"board/user","type":"user"}`:                                                                                                           `at body.resources[0]: a resource of type user needs name; add it`,
		`{"id":"board/user","type":"user","name":"board","gid":7}`:                                                                                    `at body.resources[0].gid: gid does not belong to a resource of type user`,
		`{"id":"board/user","type":"user","name":"board","path":"/x"}`:                                                                                `path does not belong to a resource of type user`,
		`{"id":"board/x","type":"directory","path":"/x","mode":"0755","name":"x"}`:                                                                    `name does not belong to a resource of type directory`,
		`{"id":"board/user","type":"user","name":"root"}`:                                                                                             `"root" is the machine's own user; want another name`,
		`{"id":"board/group","type":"group","name":"root"}`:                                                                                           `"root" is the machine's own group`,
		`{"id":"board/user","type":"user","name":"-x"}`:                                                                                               `"-x" is not the name of a user or a group`,
		`{"id":"board/user","type":"user","name":"x","groups":["a","a:b"]}`:                                                                           `at body.resources[0].groups[1]: "a:b" is not the name`,
		`{"id":"board/user","type":"user","name":"x","uid":65535}`:                                                                                    `uid 65535; want 1 to 4294967293, and not 65534 or 65535`,
		`{"id":"board/user","type":"user","name":"x","home":"x"}`:                                                                                     `at body.resources[0].home: "x" is not absolute`,
		`{"id":"board/user","type":"user","name":"x","shell":"/a:b"}`:                                                                                 `"/a:b" has a colon or a space`,
		`{"id":"board/user","type":"user","name":"x","drift":"no"}`:                                                                                   `"no" is not what becomes of drift; want correct or report`,
		user + `,{"id":"board/again","type":"user","name":"board"}`:                                                                                   `at body.resources[1]: another resource is about "user board"; want one resource for each`,
		`{"id":"board/run","type":"service","unit":"board@one.service","state":"running","enabled":false}`:                                            "",
		user + `,{"id":"board/run","type":"service","unit":"a.timer","state":"running","restart_on":["board/user"]}`:                                  "",
		`{"id":"board/run","type":"service","unit":"board.service"}`:                                                                                  `a resource of type service needs state`,
		`{"id":"board/run","type":"service","unit":"board","state":"running"}`:                                                                        `"board" is not the name of a service, socket, timer or path of systemd`,
		`{"id":"board/run","type":"service","unit":"a@.service","state":"running"}`:                                                                   `"a@.service" is not the name`,
		`{"id":"board/run","type":"service","unit":"a/b.service","state":"running"}`:                                                                  `"a/b.service" is not the name`,
		`{"id":"board/run","type":"service","unit":"mesh-host.service","state":"stopped"}`:                                                            `"mesh-host.service" is the host's own service; no module says anything about it`,
		`{"id":"board/run","type":"service","unit":"nox-mesh-host.socket","state":"stopped"}`:                                                         `"nox-mesh-host.socket" is the host's own service`,
		`{"id":"board/run","type":"service","unit":"a.service","state":"started"}`:                                                                    `"started" is not the state of a service; want running or stopped`,
		`{"id":"board/run","type":"service","unit":"a.service","state":"running","restart_on":["board/x"]}`:                                           `"board/x" is not the id of an earlier resource`,
		user + `,{"id":"board/run","type":"service","unit":"a.service","state":"stopped","restart_on":["board/user"]}`:                                `what is stopped is not restarted; take it out`,
		`{"id":"board/user","type":"user","name":"x","enabled":false}`:                                                                                `enabled does not belong to a resource of type user`,
		`{"id":"board/p","type":"package","name":"libc6:i386","version":"1:2.0~rc1+b-3","conffiles":"replace"}`:                                       "",
		`{"id":"board/p","type":"package","name":"nox-mesh-host"}`:                                                                                    "",
		`{"id":"board/p","type":"package","name":"mesh-host"}`:                                                                                        `"mesh-host" is the host's own; no module says anything about it but nox-mesh-host`,
		`{"id":"board/p","type":"package","name":"nox-mesh-host-dbg:i386"}`:                                                                           `"nox-mesh-host-dbg:i386" is the host's own`,
		`{"id":"board/p","type":"package","name":"+x"}`:                                                                                               `"+x" is not the name of a package`,
		`{"id":"board/p","type":"package","name":"-oDebug"}`:                                                                                          `"-oDebug" is not the name of a package`,
		`{"id":"board/p","type":"package","name":"nginx:"}`:                                                                                           `"nginx:" is not the name of a package`,
		`{"id":"board/p","type":"package","name":"nginx/stable"}`:                                                                                     `"nginx/stable" is not the name of a package`,
		`{"id":"board/p","type":"package","name":"nginx","version":"1.0 -y"}`:                                                                         `"1.0 -y" is not the version of a package; want it as Debian or rpm writes it`,
		`{"id":"board/p","type":"package","name":"nginx","conffiles":"ask"}`:                                                                          `"ask" is not what becomes of configuration files; want keep or replace`,
		`{"id":"board/p","type":"package","version":"1.0"}`:                                                                                           `a resource of type package needs name`,
		`{"id":"board/p","type":"package","name":"nginx"},{"id":"board/q","type":"package","name":"nginx"}`:                                           `another resource is about "package nginx"`,
		`{"id":"board/user","type":"user","name":"x","version":"1.0"}`:                                                                                `version does not belong to a resource of type user`,
		`{"id":"board/k","type":"sysctl","name":"net.ipv4.conf.eth0/100.forwarding","value":"1 \t2"}`:                                                 "",
		`{"id":"board/k","type":"sysctl","name":"net.ipv4.ip_forward"}`:                                                                               `a resource of type sysctl needs value`,
		`{"id":"board/k","type":"sysctl","name":"net.ipv4.conf.*.forwarding","value":"1"}`:                                                            `"net.ipv4.conf.*.forwarding" is not the name of a sysctl; want it as net.ipv4.ip_forward`,
		`{"id":"board/k","type":"sysctl","name":"net/ipv4/../x","value":"1"}`:                                                                         `"net/ipv4/../x" is not the name of a sysctl`,
		`{"id":"board/k","type":"sysctl","name":"net","value":"1"}`:                                                                                   `"net" is not the name of a sysctl`,
		`{"id":"board/k","type":"sysctl","name":"/net/x","value":"1"}`:                                                                                `"/net/x" is not the name of a sysctl`,
		`{"id":"board/k","type":"sysctl","name":"a.b","value":"1\nc.d = 2"}`:                                                                          `is not the value of a sysctl; want one line of text`,
		`{"id":"board/k","type":"sysctl","name":"a.b","value":" "}`:                                                                                   `" " is not the value of a sysctl`,
		`{"id":"board/k","type":"sysctl","name":"a.b","value":"1"},{"id":"board/l","type":"sysctl","name":"a/b","value":"1"}`:                         `another resource is about "sysctl a.b"`,
		`{"id":"board/run","type":"service","unit":"a.service","state":"running","version":"1"}`:                                                      `version does not belong to a resource of type service`,
		`{"id":"board/m","type":"mount","path":"/srv/m","source":"UUID=1-2","fstype":"ext4","options":"noatime,x-systemd.mount-timeout=1min"}`:        "",
		`{"id":"board/m","type":"mount","path":"/srv/m","source":"nas:/export/x y","fstype":"nfs"}`:                                                   "",
		`{"id":"board/m","type":"mount","path":"/srv/m","source":"//nas/share","fstype":"cifs"}`:                                                      "",
		`{"id":"board/m","type":"mount","path":"/srv/m","source":"/dev/mapper/x","fstype":"auto"}`:                                                    "",
		`{"id":"board/m","type":"mount","path":"/srv/m","source":"tmpfs"}`:                                                                            `a resource of type mount needs fstype`,
		`{"id":"board/m","type":"mount","path":"/srv/../m","source":"tmpfs","fstype":"tmpfs"}`:                                                        `"/srv/../m" is not clean`,
		`{"id":"board/m","type":"mount","path":"/var/lib","source":"tmpfs","fstype":"tmpfs"}`:                                                         `"/var/lib" is above what is the host's own; want a path of its own, as /srv/data`,
		`{"id":"board/m","type":"mount","path":"/proc/x","source":"tmpfs","fstype":"tmpfs"}`:                                                          `"/proc/x" is the host's own or the kernel's`,
		`{"id":"board/m","type":"mount","path":"/srv/m","source":"/srv/x","fstype":"ext4"}`:                                                           `"/srv/x" is nothing that is mounted; want a device`,
		`{"id":"board/m","type":"mount","path":"/srv/m","source":"/dev/../x","fstype":"ext4"}`:                                                        `"/dev/../x" is nothing that is mounted`,
		`{"id":"board/m","type":"mount","path":"/srv/m","source":"-a","fstype":"ext4"}`:                                                               `"-a" is nothing that is mounted`,
		`{"id":"board/m","type":"mount","path":"/srv/m","source":"ID=1","fstype":"ext4"}`:                                                             `"ID=1" is nothing that is mounted`,
		`{"id":"board/m","type":"mount","path":"/srv/m","source":"UUID=../x","fstype":"ext4"}`:                                                        `"UUID=../x" is nothing that is mounted`,
		`{"id":"board/m","type":"mount","path":"/srv/m","source":"x","fstype":"noext4"}`:                                                              `"noext4" is not the type of a file system`,
		`{"id":"board/m","type":"mount","path":"/srv/m","source":"x","fstype":"ext4,vfat"}`:                                                           `"ext4,vfat" is not the type of a file system`,
		`{"id":"board/m","type":"mount","path":"/srv/m","source":"x","fstype":"ext4","options":"ro, noexec"}`:                                         `"ro, noexec" are not options of a mount; want them as in fstab`,
		`{"id":"board/m","type":"mount","path":"/srv/m","source":"x","fstype":"ext4","options":"ro,,noexec"}`:                                         `an option is empty`,
		`{"id":"board/m","type":"mount","path":"/srv/m","source":"x","fstype":"ext4","options":"bind"}`:                                               `"bind" is no mount of its own`,
		`{"id":"board/m","type":"mount","path":"/srv/m","source":"x","fstype":"ext4","options":"noauto"}`:                                             `"noauto" is about what is not always mounted; take it out: what is declared is mounted`,
		`{"id":"board/m","type":"mount","path":"/srv/m","source":"x","fstype":"ext4","options":"password=x"}`:                                         `"password" would be read by everybody; want credentials=PATH`,
		`{"id":"board/m","type":"mount","path":"/srv/m","source":"x","fstype":"ext4","options":"users"}`:                                              `"users" is about who may mount it`,
		`{"id":"board/m","type":"mount","path":"/srv/m","source":"x","fstype":"ext4","options":"x-systemd.mount-timeout=x"}`:                          `"x-systemd.mount-timeout=x" is no time`,
		`{"id":"board/m","type":"mount","path":"/srv/m","source":"x","fstype":"x"},{"id":"board/d","type":"directory","path":"/srv/m","mode":"0755"}`: `another resource has the path "/srv/m"`,
		`{"id":"board/d","type":"directory","path":"/srv/m","mode":"0755"},{"id":"board/m","type":"mount","path":"/srv/m","source":"x","fstype":"x"}`: `another resource has the path "/srv/m"`,
		`{"id":"board/c","type":"check","http":"https://[::1]:8443/healthz?x=1","status":204}`:                                                        "",
		`{"id":"board/c","type":"check","tcp":"localhost:5432"},{"id":"board/d","type":"check","tcp":"localhost:5432"}`:                               "",
		`{"id":"board/c","type":"check","dns":"db.example.org."}`:                                                                                     "",
		`{"id":"board/c","type":"check","unit":"a.timer"}`:                                                                                            "",
		`{"id":"board/c","type":"check","file":"/run/x"}`:                                                                                             "",
		`{"id":"board/c","type":"check"}`:                                                                                                             `a resource of type check needs http or tcp or dns or unit or file or command`,
		`{"id":"board/c","type":"check","tcp":"a:1","dns":"a"}`:                                                                                       `there is tcp as well; want exactly one of them`,
		`{"id":"board/c","type":"check","http":"http://a","status":600}`:                                                                              `status 600; want 100 to 599`,
		`{"id":"board/c","type":"check","tcp":"a:1","status":200}`:                                                                                    `there is a status only of http; take it out`,
		`{"id":"board/c","type":"check","http":"http://127.0.0.1:99999/"}`:                                                                            `"http://127.0.0.1:99999/" is no address of HTTP`,
		`{"id":"board/c","type":"check","http":"http://u@127.0.0.1/"}`:                                                                                `"http://u@127.0.0.1/" is no address of HTTP`,
		`{"id":"board/c","type":"check","http":"http:///x"}`:                                                                                          `"http:///x" is no address of HTTP`,
		`{"id":"board/c","type":"check","http":"file:///etc/shadow"}`:                                                                                 `"file:///etc/shadow" is no address of HTTP`,
		`{"id":"board/c","type":"check","http":"http://a/#b"}`:                                                                                        `"http://a/#b" is no address of HTTP`,
		`{"id":"board/c","type":"check","http":"http://a/ HTTP/1.1"}`:                                                                                 `is no address of HTTP`,
		`{"id":"board/c","type":"check","tcp":"a:http"}`:                                                                                              `"a:http" is no address of TCP`,
		`{"id":"board/c","type":"check","tcp":":80"}`:                                                                                                 `":80" is no address of TCP`,
		`{"id":"board/c","type":"check","dns":"a..b"}`:                                                                                                `"a..b" is not the name of a host`,
		`{"id":"board/c","type":"check","file":"x"}`:                                                                                                  `"x" is not absolute`,
		`{"id":"board/c","type":"check","file":"/var/lib/mesh-host/identity"}`:                                                                        `is the host's own or the kernel's; no check looks there`,
		`{"id":"board/c","type":"check","unit":"mesh-host.service"}`:                                                                                  `is the host's own service`,
		`{"id":"board/c","type":"check","command":"Raid_5.sh"},{"id":"board/d","type":"container","name":"x","image":"r.example/x@sha256:` + strings.Repeat("0", 64) + `","command":["a",""]}`: "",
		`{"id":"board/c","type":"check","command":""}`:                                                                                  `a resource of type check needs http or tcp or dns or unit or file or command`,
		`{"id":"board/c","type":"check","command":["raid"]}`:                                                                            `there is a list; want its name alone, as "raid": what it is given stands in it`,
		`{"id":"board/c","type":"check","command":7}`:                                                                                   `at body.resources[0].command: there is neither a string nor a list; want the name of a command of a check, as "raid"`,
		`{"id":"board/c","type":"check","command":[7]}`:                                                                                 `at body.resources[0].command: command:1:2: at [0]: there is a number; want a string`,
		`{"id":"board/c","type":"check","command":"raid","file":"/x"}`:                                                                  `there is file as well; want exactly one of them`,
		`{"id":"board/c","type":"check","command":"../raid"}`:                                                                           `"../raid" is not the name of a command; want the name of a file in /etc/mesh-host/checks of the machine`,
		`{"id":"board/c","type":"check","command":".raid"}`:                                                                             `".raid" is not the name of a command`,
		`{"id":"board/c","type":"check","command":"raid -v"}`:                                                                           `"raid -v" is not the name of a command`,
		`{"id":"board/c","type":"container","name":"x","image":"r.example/x@sha256:` + strings.Repeat("0", 64) + `","command":"serve"}`: `there is a string; want the program and its words, as ["serve", "--port", "80"]`,
		`{"id":"board/user","type":"user","name":"x","command":"raid"}`:                                                                 `command does not belong to a resource of type user`,
		`{"id":"board/c","type":"check","file":"/x","drift":"report"}`:                                                                  `a check is made, and nothing of it drifts; take it out`,
		`{"id":"board/user","type":"user","name":"x","tcp":"a:1"}`:                                                                      `tcp does not belong to a resource of type user`,
		`{"id":"board/user","type":"portal","name":"x"}`:                                                                                `"portal" is not a type that this host knows; want ` + "file, directory",
		`{"id":"board/user","type":"user","name":"x","cheese":1}`:                                                                       `unknown key "cheese"`,
		`{"id":"board/x","type":"directory","path":"/x","mode":"0755","drift":"report","after":["no"]}`:                                 `"no" is not the id of an earlier resource`,
	} {
		_, err := declaration.Decode(with(t, in))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", in, err, want)
		}
	}
}

// A trait that Keys forgets would be taken for any type.
func TestKeysAreAllTraits(t *testing.T) {
	t.Parallel()
	var all declaration.Traits
	v := reflect.ValueOf(&all).Elem()
	var want []string
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString("x")
		case reflect.Int64:
			f.SetInt(1)
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		case reflect.Map:
			f.Set(reflect.MakeMap(f.Type()))
			f.SetMapIndex(reflect.New(f.Type().Key()).Elem(), reflect.New(f.Type().Elem()).Elem())
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
		case reflect.Struct:
			f.Field(0).SetString("x")
		default:
			t.Fatalf("what is a %s", f.Type())
		}
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		want = append(want, name)
	}
	if got := all.Keys(); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	for _, key := range want[1:] { // drift belongs to every type
		if !slices.ContainsFunc(declaration.Types(), func(of declaration.Type) bool {
			f, _ := declaration.FieldsOf(of)
			return slices.Contains(strings.Split(strings.Join(append(f.Must, f.May...), "|"), "|"), key)
		}) {
			t.Errorf("%s belongs to no type", key)
		}
	}
	if !declaration.User.IsFile() && declaration.File.IsFile() {
		return
	}
	t.Error("a user is a file")
}

// What only some resources say costs the others no more than a word, and secrets,
// which no manifest says of a resource, one of their own.
func TestAResourceWithoutTraitsIsSmall(t *testing.T) {
	t.Parallel()
	if size := reflect.TypeFor[declaration.Resource]().Size(); size > 144 {
		t.Errorf("a resource takes %d bytes", size)
	}
}
