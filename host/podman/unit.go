package podman

import (
	"strconv"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/host/container"
)

// Name is what people call it.
func (Podman) Name() string { return program }

// More is the command that says more about the health of a container.
func (Podman) More(name string) string { return "podman healthcheck run " + name }

// Short reports whether podman has no containers of so short a name.
func (Podman) Short(string) bool { return false }

// Volume is the word by which a container is given something of the machine.
func (Podman) Volume(v declaration.Volume) string {
	word := "--volume=" + v.Machine + ":" + v.Container
	if v.ReadOnly {
		word += ":ro"
	}
	return word
}

// Unit is what the unit of a container says that podman runs.
func (Podman) Unit(name, _ string) container.Unit {
	id := "/run/mesh-container-" + name + ".cid"
	return container.Unit{
		Kind: []string{"Type=notify", "NotifyAccess=all"},
		Before: []string{
			"ExecStartPre=-" + Program + " rm --force --filter=label=" + container.NameLabel + "=" + name,
			"ExecStartPre=-/bin/rm --force " + id,
		},
		Run:    Program + " run",
		Known:  []string{"--cidfile=" + id},
		Behind: []string{"ExecStop=-" + Program + " rm --force --ignore --cidfile=" + id, "Delegate=yes", "KillMode=mixed"},
	}
}

// Words is how podman is told to run a container in a unit, whose health it looks at
// as its image says.
func (Podman) Words(check *container.Check) []string {
	words := []string{"--rm", "--detach", "--pull=never", "--sdnotify=conmon", "--cgroups=split", "--log-driver=passthrough"}
	if check == nil {
		return append(words, "--no-healthcheck")
	}
	words = append(words, "--health-cmd="+command(check.Test))
	for _, time := range []struct {
		flag string
		is   int64
	}{{"interval", check.Interval}, {"timeout", check.Timeout}, {"start-period", check.StartPeriod}} {
		if time.is > 0 {
			words = append(words, "--health-"+time.flag+"="+strconv.FormatInt(time.is, 10)+"ns")
		}
	}
	if check.Retries > 0 {
		words = append(words, "--health-retries="+strconv.FormatInt(check.Retries, 10))
	}
	return words
}

// command is that of a check in one word. What podman makes of CMD before words in a
// list is one word.
func command(test []string) string {
	switch {
	case test[0] == "CMD" && len(test) == 2:
		return "CMD " + test[1]
	case test[0] == "CMD":
		return list(test[1:])
	}
	return list(test)
}

func list(words []string) string {
	b, err := document.Canonical(words)
	if err != nil {
		return ""
	}
	return string(b)
}
