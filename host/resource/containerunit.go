package resource

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"noxmesh/document"
	"noxmesh/host/podman"
	"noxmesh/image"
)

const unitLimit = 1 << 20 // of the file of a unit

// containerNote is what the record knows of a container.
type containerNote struct {
	Of      string        `json:"of,omitempty"`      // the image as it is declared
	Image   string        `json:"image,omitempty"`   // the id that it has here
	Check   *podman.Check `json:"check,omitempty"`   // how that says its health is to be looked at
	Brought []string      `json:"brought,omitempty"` // images that the host has fetched, or was about to
	Unit    string        `json:"unit,omitempty"`    // of its unit, as the record knows a service
}

func (n containerNote) String() string {
	b, err := document.Canonical(n)
	if err != nil {
		return "" // as if nothing were known
	}
	return string(b)
}

// readContainerNote takes what String wrote; what it does not know means nothing.
func readContainerNote(text string) containerNote {
	n, err := document.Decode[containerNote]("note", []byte(text), document.Limits{Bytes: 1 << 20, Depth: 8})
	if err != nil {
		return containerNote{}
	}
	return n
}

// localName is what podman calls an image that the host has brought. That of the mesh
// has a tag, so that people see which one it is.
func localName(of image.Reference) string {
	if !of.IsOwn() {
		return of.String()
	}
	return of.Name() + ":" + document.Digest(of.Digest).Hex()[:12]
}

// words is the command that runs the container, but for what it is known by.
func (c *contained) words() []string {
	t := &c.want
	words := []string{"--rm", "--detach", "--pull=never", "--sdnotify=conmon", "--cgroups=split", "--log-driver=passthrough"}
	words = append(words, checkWords(c.image.Check)...)
	for _, name := range slices.Sorted(maps.Keys(t.Env)) {
		words = append(words, "--env="+name+"="+t.Env[name])
	}
	for _, port := range t.Ports {
		words = append(words, "--publish="+port)
	}
	for _, volume := range t.Volumes {
		words = append(words, "--volume="+volume)
	}
	if t.User != "" {
		words = append(words, "--user="+t.User)
	}
	return append(append(words, c.image.ID), t.Command.Words...)
}

// checkWords has podman look at the health of a container as its image says. What
// podman makes of CMD before words in a list is one word.
func checkWords(check *podman.Check) []string {
	if check == nil {
		return []string{"--no-healthcheck"}
	}
	test := check.Test
	var command string
	switch {
	case test[0] == "CMD" && len(test) == 2:
		command = "CMD " + test[1]
	case test[0] == "CMD":
		command = list(test[1:])
	default:
		command = list(test)
	}
	words := []string{"--health-cmd=" + command}
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

func list(words []string) string {
	b, err := document.Canonical(words)
	if err != nil {
		return ""
	}
	return string(b)
}

// mark is what a container is started as, in one word.
func (c *contained) mark() string {
	return document.Sum([]byte(strings.Join(c.words(), "\x00"))).Hex()[:32]
}

// text is the file of the unit. Whatever a cut of power has left of the container is
// taken away before it is started: podman knows it by its label, which nobody else's has.
func (c *contained) text() string {
	name, ours := c.name(), podman.NameLabel+"="+c.name()
	words := append([]string{
		"--name=" + name, "--label=" + ours, "--label=" + podman.MarkLabel + "=" + c.mark(), "--cidfile=/run/mesh-container-" + name + ".cid",
	}, c.words()...)
	for i, word := range words {
		words[i] = unitWord(word)
	}
	return `# The container "` + name + `", as mesh-host keeps it: what is changed here is put back.
[Unit]
Description=Container ` + name + ` of the mesh
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=all
SyslogIdentifier=` + name + `
ExecStartPre=-/usr/bin/podman rm --force --filter=label=` + ours + `
ExecStartPre=-/bin/rm --force /run/mesh-container-` + name + `.cid
ExecStart=/usr/bin/podman run ` + strings.Join(words, " ") + `
ExecStop=-/usr/bin/podman rm --force --ignore --cidfile=/run/mesh-container-` + name + `.cid
Delegate=yes
KillMode=mixed
Restart=always
RestartSec=5
TimeoutStopSec=60

[Install]
WantedBy=multi-user.target
`
}

// unitWord is a word as it stands in the file of a unit, where systemd reads it as it is.
func unitWord(word string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range word {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '%' || r == '$':
			b.WriteRune(r)
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			b.WriteString(`\x` + strconv.FormatInt(int64(r)>>4, 16) + strconv.FormatInt(int64(r)&0xf, 16))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
