package manifest

import "slices"

// Key is one key of module.json, for people: what may stand there, and what it means.
type Key struct {
	Path  string // "resources[].id", "settings.NAME.type"
	Is    string
	Means string
}

// Keys is every key of module.json, in the order of the page that lists them.
func Keys() []Key {
	all := []Key{
		{"$schema", "text", "for editors; it has no meaning here"},
		{"module", "name; must be there", "the name that `mesh module add` was given"},
		{"summary", "one line", "what it is, for people; at most 1 KiB"},
		{"provides", "list of names or of objects", "what other modules may require. A name alone is good for the machine that the module is on. A module provides its own name, without saying so"},
		{"provides[].name", "name; must be there", "what is provided"},
		{"provides[].scope", "`node` or `mesh`", "how far it is good: for the machine that the module is on, as where it is left out, or for the whole mesh"},
		{"requires", "list of names", "what must be there, and is not what the module provides itself. What is good for one machine is brought along with the module; what is good for the whole mesh must be declared on some machine"},
		{"instances", "by name", "what other modules make for this one: a database, a route"},
		{"instances.NAME.of", "name; must be there", "the kind of it, as a module grants it"},
		{"instances.NAME.with", "by name", "what is chosen of it: text, an integer, `true` or `false`. Text that is nothing but a setting, as `\"${settings.port}\"`, is that setting with its type"},
		{"grants", "by kind", "what the module makes for others"},
		{"grants.NAME.says", "one line", "what it is, for people"},
		{"grants.NAME.with", "by name", "what an instance of it may choose; each is written as a setting is"},
		{"grants.NAME.with.NAME.type", "`string`, `integer` or `boolean`; must be there", "what may be chosen"},
		{"grants.NAME.with.NAME.default", "a value of that type", "what it is where nothing is chosen. Without one, each instance must choose"},
		{"grants.NAME.with.NAME.says", "one line", "what it is, for people"},
		{"grants.NAME.gives", "list of names", "the values that come back: `${instances.NAME.VALUE}` in the module that needs it"},
		{"claims", "list of claims", "what only one module may have on a machine, beside the paths of its resources"},
		{"capabilities", "list of names", "what the machine must have said that it has: `systemd`, `apt`, `dnf`, `docker`, `podman`, `container-runtime`, or its architecture, as `amd64`"},
		{"settings", "by name", "what an assignment may choose"},
		{"settings.NAME.type", "`string`, `integer` or `boolean`; must be there", "what may be chosen. An integer is at most 2⁵³"},
		{"settings.NAME.default", "a value of that type", "what it is where nothing is chosen. A setting without one must be set by each assignment"},
		{"settings.NAME.says", "one line", "what it is, for people"},
		{"secrets", "by name", "what a person gives for each machine with `mesh secret set`, and nobody else reads: `${secret.NAME}` in the content of a file is filled on the machine. It stands in no repository, build or declaration"},
		{"secrets.NAME.says", "one line", "what it is, for people"},
		{"resources", "list", "what it puts on a machine"},
	}
	return slices.Concat(all, resourceKeys(), buildKeys())
}

func resourceKeys() []Key {
	return []Key{
		{"resources[].id", "name; must be there", "its name in the module, once"},
		{"resources[].type", "`file`, `directory`, `link`, `archive`, `group`, `user`, `service`, `package`, `sysctl`, `mount`, `check` or `container`; must be there", "what it is"},
		{"resources[].after", "list of names", "ids of resources earlier in the list that must be right before anything is done about this one, beside those that it stands on by what it says"},
		{"resources[].drift", "`correct` or `report`", "what becomes of a change that the mesh did not make: it is put back (`correct`, where it is not given), or only reported; then the resource differs, and is never said to be as declared. A changed file, folder or link is noticed within a second, everything else by the drift timer, every five minutes; what is put back again and again is contested, and put back ever more seldom"},
		{"resources[].path", "absolute path; must be there of a file, a directory, a link, an archive and a mount", "where it is on the machine: clean, below `/`, once in the module, not below a file or a link of it, and not in what is reserved: `/proc`, `/sys`, `/dev` and the host's own"},
		{"resources[].mode", "four octal digits", "of a file (`0644` where it is not given, `0640` where there are secrets in it, which nobody but its owner and its group can be let read), at most `0777`, or of a directory (`0755`), at most `3777`: setgid and sticky mean something there. What runs as somebody else comes in a package"},
		{"resources[].owner", "name or number of a user", "of a file, a directory, a link and an archive with all that is in it: whose it is; not looked at where it is not given. A number is written as text, as `\"712\"`"},
		{"resources[].content", "text", "of a file: what is in it, at most 64 KiB. It alone may have `${secret.NAME}` in it"},
		{"resources[].from", "relative path", "of a file: the file of the module's folder that it is, as it is, at most 256 MiB"},
		{"resources[].swap", "`true` or `false`", "of an archive: another one comes in its place all at once, and never file by file. Its folder is wholly the module's then, see below"},
		{"resources[].target", "text", "of a link: where it leads to"},
		{"resources[].artifact", "name", "of an archive: one of `build.artifacts`. Of a container: one of type `image`, in place of `image`; the host fetches it from the mesh's own registry, with its own login"},
		{"resources[].name", "name of a user, a group, a package, a sysctl or a container; must be there of each", "what it is called on the machine. Of a user and a group lower-case letters, digits, `_` and `-`, at most 32; not `root`. Of a package as the machine's package manager calls it; of another architecture than the machine's with it behind a colon, whichever package manager that is, as `libc6:i386` or `glibc:i686`. Of a sysctl as sysctl(8) has it, as `net.ipv4.ip_forward`; an interface whose name has a dot as `net.ipv4.conf.eth0/100.forwarding`. Of a container as podman and docker call it: lower-case letters, digits, `_`, `.` and `-`; docker wants two of them at least"},
		{"resources[].gid", "integer", "of a group: its number, which the machine chooses where it is not given"},
		{"resources[].uid", "integer", "of a user: its number, likewise"},
		{"resources[].group", "name of a group", "of a user: its own group; where it is not given the group of its name, which is made with it. Of what is at a path: whose group's it is, a name or a number, as `owner`"},
		{"resources[].groups", "list of names of groups", "of a user: groups that it is in as well. It may be in others; the host takes it out of none that it did not put it into"},
		{"resources[].home", "absolute path", "of a user: what stands in its entry, `/nonexistent` where it is made and nothing is given. No folder is made"},
		{"resources[].shell", "absolute path", "of a user: likewise, `/usr/sbin/nologin`"},
		{"resources[].version", "version", "of a package: that and no other, as Debian writes it, or as rpm does, with its release and with its epoch where that is not 0: `2.0-3` or `1:2.0-3.el9`; where it is not given, any that is installed is right"},
		{"resources[].conffiles", "`keep` or `replace`", "of a package: what becomes of its configuration files that somebody has changed, when a version with other ones is installed: they are kept (`keep`, where it is not given), or replaced by the package's. The report names them, and where the other one is. Some files rpm replaces by itself, see there"},
		{"resources[].value", "text; must be there of a sysctl", "what it is, in one line, as the kernel writes it; of several parts, how many spaces are between them does not matter"},
		{"resources[].source", "text; must be there of a mount", "what is mounted: a device, as `UUID=…`, `LABEL=…`, `PARTUUID=…`, `PARTLABEL=…` or `/dev/…`; what another machine exports, as `host:/export` or `//host/share`; or what the type of the file system asks for, as `tmpfs`"},
		{"resources[].fstype", "text; must be there of a mount", "the type of the file system, as `ext4`, `nfs` or `tmpfs`; of a device, `auto` is whichever it has"},
		{"resources[].options", "text", "of a mount: its options, as in fstab, `defaults` where they are not given"},
		{"resources[].http", "address", "of a check: what is asked with a GET, as `http://127.0.0.1:8080/healthz`. A check has exactly one of `http`, `tcp`, `dns`, `unit`, `file` and `command`"},
		{"resources[].status", "integer", "of a check with `http`: the status that is right, 200 where it is not given"},
		{"resources[].tcp", "address and port", "of a check: where a connection is taken, as `127.0.0.1:5432`"},
		{"resources[].dns", "name of a host", "of a check: the name of which the machine's own name service knows an address"},
		{"resources[].file", "absolute path", "of a check: where something is, whatever it is"},
		{"resources[].unit", "name of a unit; must be there of a service", "of a service, and of a check: the unit of systemd: a service, socket, timer or path, with its ending, as `board.service`; of a template an instance, as `board@one.service`"},
		{"resources[].state", "`running` or `stopped`; must be there of a service", "what it is to be"},
		{"resources[].enabled", "`true` or `false`", "of a service: whether it is started at boot. Where it is not given, what runs is, and what is stopped is not"},
		{"resources[].restart_on", "list of names", "of a service or a container: ids of the resources earlier in the list that it is made from. It comes after them, and is restarted when one of them has changed since the process that runs was started"},
		{"resources[].image", "image; must be there of a container, or `artifact`", "of a container: what it runs, in full and by its digest, as `docker.io/library/nginx@sha256:…`. A tag is refused: it may mean another image tomorrow. The machine's podman or docker fetches it, by the registries and logins that the machine knows"},
		{"resources[].command", "name, or the program and its words", "of a check, a name: one of the commands that the machine's operator has put into its `/etc/mesh-host/checks`, which is right when it ends with 0. Of a container, a list: what comes behind the entry point of the image in place of the image's own command, as with `podman run`"},
		{"resources[].env", "by name", "of a container: variables, beside those of the image. They stand in the container's unit, where everybody on the machine can read them"},
		{"resources[].ports", "list of ports", "of a container: `PORT:PORT`, first the machine's and then the container's; with an address of the machine before it, as `127.0.0.1:8080:80`, or with `/udp` after it. The machine's port is claimed, as `tcp:8080` in `claims` would"},
		{"resources[].volumes", "list of paths", "of a container: `PATH:PATH`, first the machine's and then the container's; with `:ro` after it where the container only reads. It comes after the resources that are at or below the machine's path; what lies there stays when the container goes"},
		{"resources[].user", "name or number", "of a container: as whom its program runs, as `1000` or `1000:1000`; as the image says where it is not given"},
	}
}

func buildKeys() []Key {
	return []Key{
		{"build", "object", "what to make of the source. Without it there is nothing to make: the build is the manifest with its files"},
		{"build.in", "image", "the container image whose root file system commands run in, as `golang:1.26`; what its tag means is looked up, and a module is built again when that moves. `mesh.internal/MODULE` is the image that a module of the mesh makes. Without it they run in the builder's own, which is not reproducible in general"},
		{"build.run", "list of commands", "what makes the artifacts"},
		{"build.test", "list of commands", "what judges the build: all end with 0, and it is fit; one does not, and it is unfit"},
		{"build.artifacts", "by name", "what was made; each archive is named by a resource"},
		{"build.artifacts.NAME.type", "`archive`, `library`, `package` or `image`; must be there", "what it is: for machines, for other modules to be built against, a `.deb` for a machine's own package manager, or a container image. An image is what a resource of type `container` runs. Packages are published with the build; no resource of this version puts them on a machine yet"},
		{"build.artifacts.NAME.path", "relative path; must be there but of a library, and of an image with a `file`", "the folder of the module's folder that it is, after `build.run`; of a library, the whole folder where it is not given; of an image, what is put into it (see `file`); of a package, the folder that stands for `/`: `dist` with `dist/usr/bin/board`. What lies in `etc` there is the machine's to change, as with every package"},
		{"build.artifacts.NAME.language", "name; must be there of a library", "the language in which others import it, as `go`"},
		{"build.artifacts.NAME.name", "name", "of a package: what it is called, where that is not the artifact's name"},
		{"build.artifacts.NAME.version", "version; must be there of a package", "of a package, as Debian writes it. Raise it with what is in the package: no commit does, so that a commit which changes nothing in it moves no digest and no machine"},
		{"build.artifacts.NAME.depends", "list of packages", "of a package: what it needs, as `libc6 (>= 2.36)`; of several with a bar between them one is enough"},
		{"build.artifacts.NAME.file", "relative path", "of an image: the container file of the module's folder that it is made as, as the repository has it; `path` is then what COPY takes from, after `build.run`, and the whole folder where it is not given. What it stands on has any name: `FROM debian@sha256:…`, the image of another module, as `FROM mesh.internal/MODULE`, or a tag, as `FROM debian:12`, of which the mesh finds out what it means. Commands (RUN) run in the sandbox as every other does, as root inside. What `.dockerignore` leaves out is not seen. ONBUILD, here-documents, ADD of an address and flags but for `--from`, `--chown` and `--link` are not taken, and named before anything runs"},
		{"build.artifacts.NAME.base", "image", "of an image: what it stands on, by its digest, as `debian@sha256:…`, the image of another module, as `mesh.internal/MODULE`, or just as `build.in` has it. Without it there is nothing below. A base that is a tag is not taken yet"},
		{"build.artifacts.NAME.at", "absolute path", "of an image: where in it the folder is; at its root where it is not given"},
		{"build.artifacts.NAME.command", "the program and its words", "of an image: what it runs, whatever its base would"},
		{"build.artifacts.NAME.env", "by name", "of an image: variables, beside those of its base"},
		{"build.network", "`true` or `false`", "whether its commands need to reach other machines: public ones, by the proxy that HTTP_PROXY and HTTPS_PROXY name. A builder lets them where its operator says so (mesh-builder run --network); elsewhere the build waits and says so. It is not reproducible in general"},
		{"build.limits", "object", "what one build of it may take, where the builder's default is not right. A builder gives no more than its own limits"},
		{"build.limits.memory", "a number and `MiB` or `GiB`", "of all its processes together, with what they keep in `/tmp` and in the home folder"},
		{"build.limits.disk", "a number and `MiB` or `GiB`", "the source, and all that is made in it"},
		{"build.limits.processes", "integer", "at one time, threads included"},
		{"build.limits.time", "a number and `s`, `m` or `h`", "from the clone to the answer"},
	}
}
