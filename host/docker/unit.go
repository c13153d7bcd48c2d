package docker

import (
	"noxmesh/declaration"
	"noxmesh/host/container"
)

// Name is what people call it.
func (Docker) Name() string { return program }

// More is the command that says more about the health of a container.
func (Docker) More(name string) string { return "docker inspect " + name }

// Short reports whether docker has no containers of so short a name.
func (Docker) Short(name string) bool { return len(name) < 2 }

// Volume is the word by which a container is given something of the machine, which must
// be there: docker would otherwise make a folder of root's in its place.
func (Docker) Volume(v declaration.Volume) string {
	word := "--mount=type=bind,source=" + v.Machine + ",target=" + v.Container
	if v.ReadOnly {
		word += ",readonly"
	}
	return word
}

// Words is how docker is told to run a container in a unit. What the container writes
// goes to whoever has started it, and is kept nowhere else; its health docker looks at
// by itself, as its image says.
func (Docker) Words(check *container.Check) []string {
	words := []string{"--rm", "--pull=never", "--log-driver=none"}
	if check == nil {
		words = append(words, "--no-healthcheck")
	}
	return words
}

// Unit is what the unit of a container says that docker runs. The process of the unit is
// the docker command, which ends with the container, as that has ended; the container
// itself is no child of it, and goes on where only the command was ended. So whatever is
// there of it is taken away before it is started, and when the unit has ended. That is
// what docker can be asked about, and not all that it lists: until it starts anew it may
// list what has gone, and who waits for that to go waits in vain.
func (Docker) Unit(name, called string) container.Unit {
	list := Program + " ps --quiet --no-trunc --filter label=" + container.NameLabel + "=" + name
	there := list + ` --all | xargs --no-run-if-empty ` + Program + ` inspect --type=container --format={{.Id}}`
	remove := `=-/bin/sh -c "while ids=$$(` + there + `); [ -n \"$$ids\" ]; do ` + Program + ` rm --force $$ids || sleep 0.2; done"`
	return container.Unit{
		Needs:  "docker.socket docker.service",
		Kind:   []string{"Type=exec", "Environment=" + host},
		Before: []string{"ExecStartPre" + remove},
		Run:    Program + " run",
		Known:  []string{"--label=" + container.ImageLabel + "=" + called},
		Behind: []string{
			`ExecStop=-/bin/sh -c "` + list + ` | xargs --no-run-if-empty ` + Program + ` stop"`,
			"ExecStopPost" + remove, "KillMode=mixed",
		},
	}
}
