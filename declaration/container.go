package declaration

import (
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"noxmesh/document"
	"noxmesh/image"
)

// ContainerUnit is the unit of systemd that the host keeps for the container of this
// name. No module says anything about it.
func ContainerUnit(name string) string { return containerUnits + name + ".service" }

const containerUnits = "mesh-container-"

// The most that a container says of itself.
const (
	mostWords  = 256
	mostValue  = 8 << 10 // of a word or of a variable, in bytes
	mostMounts = 64
)

// Port is a port of the machine that leads to one of a container.
type Port struct {
	Address   string // of the machine; empty for every one that it has
	Machine   uint16
	Container uint16
	Protocol  string // tcp or udp
}

// ParsePort reads [ADDRESS:]PORT:PORT[/udp], of which the second port is the container's.
func ParsePort(s string) (p Port, ok bool) {
	rest, protocol, said := strings.Cut(s, "/")
	if said && protocol != "udp" {
		return p, false
	}
	p.Protocol = "tcp"
	if said {
		p.Protocol = protocol
	}
	rest, inside := cutLast(rest, ':')
	address, outside := cutLast(rest, ':')
	if outside == "" {
		outside = address
	} else if p.Address = address; !isAddress(address) {
		return p, false
	}
	p.Machine, ok = port(outside)
	if !ok {
		return p, false
	}
	p.Container, ok = port(inside)
	return p, ok
}

func port(s string) (uint16, bool) {
	n, err := strconv.ParseUint(s, 10, 16)
	return uint16(n), err == nil && n > 0 && strconv.FormatUint(n, 10) == s
}

// isAddress reports whether s is the address of a machine: 127.0.0.1, or [::1].
func isAddress(s string) bool {
	inner, six := strings.CutPrefix(s, "[")
	if six {
		if inner, six = strings.CutSuffix(inner, "]"); !six {
			return false
		}
	}
	a, err := netip.ParseAddr(inner)
	return err == nil && a.String() == inner && a.Is6() == six && a.Zone() == ""
}

// Claim is the port of the machine as a claim: tcp:8080.
func (p Port) Claim() string { return p.Protocol + ":" + strconv.Itoa(int(p.Machine)) }

// Volume is something of the machine that a container sees.
type Volume struct {
	Machine   string // where it is on the machine
	Container string // where the container sees it
	ReadOnly  bool
}

// ParseVolume reads PATH:PATH[:ro], of which the second path is the container's.
func ParseVolume(s string) (v Volume, ok bool) {
	parts := strings.Split(s, ":")
	if len(parts) == 3 && parts[2] == "ro" {
		v.ReadOnly = true
		parts = parts[:2]
	}
	if len(parts) != 2 || strings.ContainsAny(s, ",\"\n") {
		return v, false
	}
	v.Machine, v.Container = parts[0], parts[1]
	return v, document.BadPath(v.Machine) == "" && document.BadPath(v.Container) == ""
}

// Mounts is the paths of the machine that a container sees.
func (t *Traits) Mounts() []string {
	if t == nil {
		return nil
	}
	var paths []string
	for _, s := range t.Volumes {
		if v, ok := ParseVolume(s); ok {
			paths = append(paths, v.Machine)
		}
	}
	return paths
}

// Claims is the ports of the machine that a container takes, as claims.
func (t *Traits) Claims() []string {
	if t == nil {
		return nil
	}
	var claims []string
	for _, s := range t.Ports {
		if p, ok := ParsePort(s); ok {
			claims = append(claims, p.Claim())
		}
	}
	return claims
}

// contained checks what a container is called. Its unit is called after it.
func (f *flaws) contained(name string) {
	if name == "" {
		return
	}
	if len(name) > 63 || !strings.Contains(lowers+digits, name[:1]) || strings.Trim(name, lowers+digits+"_.-") != "" {
		f.add("name", "want lower-case letters, digits, _, . and -, a letter or a digit first, at most 63", "is not the name of a container", name)
	}
}

// container checks what only a container says.
func (f *flaws) container(t *Traits) {
	f.image(t.Image)
	if len(t.Env) > mostWords {
		*f = append(*f, Flaw{"env", "want at most " + number(mostWords), number(int64(len(t.Env))) + " variables"})
	}
	for _, name := range slices.Sorted(maps.Keys(t.Env)) {
		at := document.Join("env", name)
		if name == "" || len(name) > 128 || strings.Contains(digits, name[:1]) || strings.Trim(name, lowers+uppers+digits+"_") != "" {
			f.add(at, "want letters, digits and _, and no digit first", "is not the name of a variable", name)
		}
		f.text(at, t.Env[name])
	}
	f.ports(t.Ports)
	f.volumes(t.Volumes)
	f.runsAs(t.User)
}

// image checks that an image is named by its digest: what a tag means tomorrow nobody knows.
func (f *flaws) image(name string) {
	if name == "" {
		return
	}
	const want = "want it by its digest, as docker.io/library/nginx@sha256:…"
	r, ok := image.Parse(name)
	switch full := r.Name() + "@" + r.Digest; {
	case !ok:
		f.add("image", want, "is not the name of an image", name)
	case r.Digest == "":
		f.add("image", want, "may mean another image tomorrow", name)
	case !document.Digest(r.Digest).Valid():
		f.add("image", "want sha256: and 64 lower-case hexadecimal digits", "is not a digest", r.Digest)
	case name != full:
		f.add("image", "want "+full, "is not its name in full and without a tag", name)
	}
}

// text checks a word that a program is given.
func (f *flaws) text(key, value string) {
	if len(value) > mostValue || strings.ContainsRune(value, 0) {
		*f = append(*f, Flaw{key, "want at most 8 KiB and no zero byte", "it cannot be given to a program"})
	}
}

func (f *flaws) ports(all []string) {
	taken := map[string]bool{}
	for i, s := range all {
		p, ok := ParsePort(s)
		if key := document.At("ports", i); !ok {
			f.add(key, "want PORT:PORT, first the machine's and then the container's; with the machine's address before it, as 127.0.0.1:8080:80, or with /udp after it", "is not a port of the machine and one of the container", s)
		} else if taken[p.Claim()] {
			f.add(key, "want each port of the machine once", "is there twice", p.Claim())
		}
		taken[p.Claim()] = true
	}
	if len(all) > mostMounts {
		*f = append(*f, Flaw{"ports", "want at most " + number(mostMounts), number(int64(len(all))) + " ports"})
	}
}

func (f *flaws) volumes(all []string) {
	taken := map[string]bool{}
	for i, s := range all {
		v, ok := ParseVolume(s)
		key := document.At("volumes", i)
		switch {
		case !ok:
			f.add(key, "want PATH:PATH, first the machine's and then the container's, both clean and absolute; with :ro after it where the container only reads", "is not a path of the machine and one of the container", s)
		case taken[v.Container]:
			f.add(key, "want each path of the container once", "is there twice", v.Container)
		case isHosts(v.Machine):
			f.add(key, "no container sees that", "is the host's own", v.Machine)
		}
		taken[v.Container] = true
	}
	if len(all) > mostMounts {
		*f = append(*f, Flaw{"volumes", "want at most " + number(mostMounts), number(int64(len(all))) + " volumes"})
	}
}

// isHosts reports whether this path is in a folder of the host's own.
func isHosts(p string) bool {
	return slices.ContainsFunc(Reserved()[:2], func(r string) bool { return p == r || strings.HasPrefix(p, r+"/") })
}

// runsAs checks as whom the program of a container runs.
func (f *flaws) runsAs(s string) {
	if s == "" {
		return
	}
	user, group, said := strings.Cut(s, ":")
	for _, name := range []string{user, group} {
		if len(name) > 32 || name == "" && (said || name == user) || strings.HasPrefix(name, "-") || strings.Trim(name, lowers+uppers+digits+"_.-") != "" {
			f.add("user", "want a name or a number of the container, as 1000, or with its group, as 1000:1000", "is not a user", s)
			return
		}
	}
}
