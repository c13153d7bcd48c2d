package resource

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/host/container"
	"noxmesh/image"
)

const unitLimit = 1 << 20 // of the file of a unit

// containerNote is what the record knows of a container.
type containerNote struct {
	Of       string           `json:"of,omitempty"`       // the image as it is declared
	Image    string           `json:"image,omitempty"`    // the id that it has here
	Check    *container.Check `json:"check,omitempty"`    // how that says its health is to be looked at
	Brought  []string         `json:"brought,omitempty"`  // images that the host has fetched, or was about to
	Bringing string           `json:"bringing,omitempty"` // the one that is being fetched, until it is on the disk
	By       []string         `json:"by,omitempty"`       // what may have it, or have had it: none is podman
	Unit     string           `json:"unit,omitempty"`     // of its unit, as the record knows a service
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

// words is what the container is started as, but for what it is known by.
func (c *contained) words() []string {
	t := &c.want
	words := c.by.Words(c.image.Check)
	for _, name := range slices.Sorted(maps.Keys(t.Env)) {
		words = append(words, "--env="+name+"="+t.Env[name])
	}
	for _, port := range t.Ports {
		words = append(words, "--publish="+port)
	}
	for _, volume := range t.Volumes {
		if v, ok := declaration.ParseVolume(volume); ok { // it was checked
			words = append(words, c.by.Volume(v))
		}
	}
	if t.User != "" {
		words = append(words, "--user="+t.User)
	}
	return append(append(words, c.image.ID), t.Command.Words...)
}

// mark is what a container is started as, in one word.
func (c *contained) mark() string {
	return document.Sum([]byte(strings.Join(c.words(), "\x00"))).Hex()[:32]
}

// text is the file of the unit. Whatever a cut of power has left of the container is
// taken away before it is started: it is known by its label, which nobody else's has.
func (c *contained) text() string {
	name := c.name()
	unit := c.by.Unit(name, localName(c.of))
	words := append([]string{
		"--name=" + name, "--label=" + container.NameLabel + "=" + name, "--label=" + container.MarkLabel + "=" + c.mark(),
	}, slices.Concat(unit.Known, c.words())...)
	for i, word := range words {
		words[i] = unitWord(word)
	}
	needs := "network-online.target"
	if unit.Needs != "" {
		needs += " " + unit.Needs
	}
	return `# The container "` + name + `", as mesh-host keeps it: what is changed here is put back.
[Unit]
Description=Container ` + name + ` of the mesh
Wants=` + needs + `
After=` + needs + `
StartLimitIntervalSec=0

[Service]
` + lines(unit.Kind) + `SyslogIdentifier=` + name + `
` + lines(unit.Before) + `ExecStart=` + unit.Run + " " + strings.Join(words, " ") + `
` + lines(unit.Behind) + `Restart=always
RestartSec=5
TimeoutStopSec=60

[Install]
WantedBy=multi-user.target
`
}

// lines is each of them with its end.
func lines(all []string) string { return strings.Join(append(slices.Clone(all), ""), "\n") }

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
