package declaration_test

import (
	"fmt"
	"strings"
	"testing"

	"noxmesh/declaration"
)

func TestContainers(t *testing.T) {
	t.Parallel()
	hex := strings.Repeat("a", 64)
	container := func(rest string) string {
		return `{"id":"board/c","type":"container","name":"web","image":"docker.io/library/nginx@sha256:` + hex + `"` + rest + `}`
	}
	named := func(image string) string {
		return `{"id":"board/c","type":"container","name":"web","image":"` + image + `"}`
	}
	many := func(format string) string {
		var all []string
		for i := range 65 {
			all = append(all, fmt.Sprintf(format, i+1))
		}
		return strings.Join(all, ",")
	}
	for in, want := range map[string]string{
		container(``): ``,
		container(`,"command":["serve","--port","80"],"env":{"A_1":"x=\"y\"\n"},"ports":["8080:80","127.0.0.1:8081:80","[::1]:53:53/udp"],"volumes":["/srv/a:/a","/srv/a:/b:ro"],"user":"1000:1000"`): ``,
		named("nginx"):                                                `"nginx" may mean another image tomorrow; want it by its digest, as docker.io/library/nginx@sha256:…`,
		named("docker.io/library/nginx:1.27"):                         `"docker.io/library/nginx:1.27" may mean another image tomorrow`,
		named("nginx:1.27@sha256:" + hex):                             `is not its name in full and without a tag; want docker.io/library/nginx@sha256:` + hex,
		named("docker.io/library/nginx@sha512:" + hex + hex):          `is not a digest; want sha256: and 64 lower-case hexadecimal digits`,
		named("Nginx"):                                                `"Nginx" is not the name of an image; want it by its digest`,
		named("mesh.internal/board/web@sha256:" + hex):                `where does not say how to get sha256:` + hex[:20],
		container(`,"command":["a\u0000"]`):                           `command[0]: it cannot be given to a program; want at most 8 KiB and no zero byte`,
		container(`,"env":{"1A":"x"}`):                                `"1A" is not the name of a variable; want letters, digits and _, and no digit first`,
		container(`,"env":{"A":"` + strings.Repeat("x", 8193) + `"}`): `env.A: it cannot be given to a program`,
		container(`,"ports":["80"]`):                                  `"80" is not a port of the machine and one of the container; want PORT:PORT, first the machine's`,
		container(`,"ports":["80:80/tcp"]`):                           `"80:80/tcp" is not a port of the machine and one of the container`,
		container(`,"ports":["080:80"]`):                              `"080:80" is not a port`,
		container(`,"ports":["0:80"]`):                                `"0:80" is not a port`,
		container(`,"ports":["eth0:80:80"]`):                          `"eth0:80:80" is not a port`,
		container(`,"ports":["80:80","127.0.0.1:80:81"]`):             `"tcp:80" is there twice; want each port of the machine once`,
		container(`,"ports":[` + many(`"%d:80"`) + `]`):               `65 ports; want at most 64`,
		container(`,"volumes":[` + many(`"/a:/%d"`) + `]`):            `65 volumes; want at most 64`,
		container(`,"volumes":["data:/data"]`):                        `"data:/data" is not a path of the machine and one of the container; want PATH:PATH`,
		container(`,"volumes":["/srv/a:/data:rw"]`):                   `"/srv/a:/data:rw" is not a path`,
		container(`,"volumes":["/srv/../a:/data"]`):                   `"/srv/../a:/data" is not a path`,
		container(`,"volumes":["/srv/a:/data","/srv/b:/data"]`):       `"/data" is there twice; want each path of the container once`,
		container(`,"volumes":["/var/lib/mesh-host/keys:/data"]`):     `"/var/lib/mesh-host/keys" is the host's own; no container sees that`,
		container(`,"user":"a b"`):                                    `"a b" is not a user; want a name or a number of the container`,
		container(`,"user":"1000:"`):                                  `"1000:" is not a user`,
		container(`,"path":"/x"`):                                     `path does not belong to a resource of type container`,
		container(`,"restart_on":["no"]`):                             `"no" is not the id of an earlier resource`,
		`{"id":"board/c","type":"container","name":"web"}`:            `a resource of type container needs image`,
		`{"id":"board/c","type":"container","name":"-web","image":"docker.io/library/nginx@sha256:` + hex + `"}`: `"-web" is not the name of a container; want lower-case letters, digits, _, . and -`,
		container(``) + "," + strings.Replace(container(``), "board/c", "board/d", 1):                            `another resource is about "container web"`,
		`{"id":"board/s","type":"service","unit":"mesh-container-web.service","state":"stopped"}`:                `"mesh-container-web.service" is the unit of a container`,
		`{"id":"board/s","type":"link","path":"/etc/systemd/system/mesh-container-web.service","target":"x"}`:    ``, // a host refuses it, which knows what a link makes of a path
	} {
		_, err := declaration.Decode(with(t, in))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", in, err, want)
		}
	}
	if why := declaration.ReservedPath("/etc/systemd/system/mesh-container-web.service"); why != "the unit of a container" {
		t.Error(why)
	}
}
