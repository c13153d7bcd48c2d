package podman

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"noxmesh/host/system"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

const (
	program     = "podman"
	answerLimit = time.Minute     // for a question
	removeLimit = 5 * time.Minute // for what is to go
)

// The labels of a container that the mesh has made.
const (
	NameLabel = "mesh.container" // its name, by which its unit takes away what a cut of power has left of it
	MarkLabel = "mesh.declared"  // what it was started as
)

// Podman is that of one machine.
type Podman struct{ sys *system.Root }

// Of is the podman of this machine.
func Of(sys *system.Root) Podman { return Podman{sys} }

// Container is one that there is, running or not.
type Container struct {
	ID      string
	Name    string
	Image   string // the id of what it was made from
	Called  string // what that is called
	Running bool
	Labels  map[string]string
}

// Ours reports whether a unit of the host has made it.
func (c Container) Ours() bool { return c.Labels[NameLabel] == c.Name && c.Name != "" }

// Containers is those with these names, as far as they are there, by name.
func (p Podman) Containers(ctx context.Context, names []string) (map[string]Container, error) {
	args := []string{"ps", "--all", "--no-trunc", "--format=json"}
	for _, name := range names {
		args = append(args, "--filter=name=^"+name+"$")
	}
	var all []struct {
		ID, ImageID, Image, State string
		Names                     []string
		Labels                    map[string]string
	}
	if err := p.ask(ctx, &all, "list containers", args...); err != nil {
		return nil, err
	}
	found := map[string]Container{}
	for _, c := range all {
		for _, name := range c.Names {
			if slices.Contains(names, name) { // a dot in a name stands for any letter in the filter
				found[name] = Container{ID: c.ID, Name: name, Image: c.ImageID, Called: c.Image, Running: c.State == "running", Labels: c.Labels}
			}
		}
	}
	return found, nil
}

// Health is what the check of a container has come to.
type Health struct {
	Status string // starting, healthy, unhealthy; empty where there is no check
	Says   string // what the last check said
}

// Health is that of these containers, in their order.
func (p Podman) Health(ctx context.Context, ids []string) ([]Health, error) {
	var all []struct {
		State struct {
			Health struct {
				Status string
				Log    []struct{ Output string }
			}
		}
	}
	if err := p.ask(ctx, &all, "ask for the health of containers", append([]string{"container", "inspect", "--format=json"}, ids...)...); err != nil {
		return nil, err
	}
	if len(all) != len(ids) {
		return nil, fault.New(fault.Conflict, "ask for the health of %d containers: podman tells of %d", len(ids), len(all))
	}
	healths := make([]Health, len(all))
	for i, c := range all {
		healths[i].Status = c.State.Health.Status
		if log := c.State.Health.Log; len(log) > 0 {
			healths[i].Says = lastWords(log[len(log)-1].Output)
		}
	}
	return healths, nil
}

// Image is one that podman has.
type Image struct {
	ID      string
	Digests []string // of its manifest, and of the index that it came by
	Check   *Check
}

// Is reports whether it is the image with this digest.
func (i Image) Is(digest string) bool { return slices.Contains(i.Digests, digest) }

// Check is how an image says that its health is to be looked at.
type Check struct {
	Test        []string `json:"test"`               // CMD and its words, or CMD-SHELL and a line
	Interval    int64    `json:"interval,omitempty"` // in nanoseconds, as every time here; 0 where podman's own is right
	Timeout     int64    `json:"timeout,omitempty"`
	StartPeriod int64    `json:"startperiod,omitempty"`
	Retries     int64    `json:"retries,omitempty"`
}

// Image is the image with this name, which says a digest or a tag; false where there
// is none.
func (p Podman) Image(ctx context.Context, name string) (Image, bool, error) {
	var all []struct {
		ID          string `json:"Id"`
		Digest      string
		RepoDigests []string
		Healthcheck *Check
	}
	if err := p.ask(ctx, &all, "ask for the image \""+name+"\"", "image", "inspect", "--format=json", name); err != nil {
		// Only another question says whether that is why.
		done, bad := p.run(ctx, answerLimit, "image", "exists", name)
		if bad == nil && done.Code == 1 {
			return Image{}, false, nil
		}
		return Image{}, false, err
	}
	if len(all) != 1 {
		return Image{}, false, fault.New(fault.Conflict, "ask for the image %q: podman tells of %d", name, len(all))
	}
	is := Image{ID: all[0].ID, Digests: []string{all[0].Digest}, Check: all[0].Healthcheck.sound()}
	for _, full := range all[0].RepoDigests {
		_, digest, _ := strings.Cut(full, "@")
		is.Digests = append(is.Digests, digest)
	}
	return is, true, nil
}

// sound is the check where it is one.
func (c *Check) sound() *Check {
	if c == nil || len(c.Test) < 2 || c.Test[0] != "CMD" && c.Test[0] != "CMD-SHELL" {
		return nil
	}
	return c
}

// ParseCheck is the check that an image's configuration says; nil where it says none.
func ParseCheck(configuration []byte) (*Check, error) {
	var c struct {
		Config struct{ Healthcheck *Check }
	}
	if err := json.Unmarshal(configuration, &c); err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "read the configuration of an image")
	}
	return c.Config.Healthcheck.sound(), nil
}

// Pull fetches an image by its digest, as the machine's podman fetches any.
func (p Podman) Pull(ctx context.Context, name string) error {
	return effect.Do("podman.image.pull", func() error {
		done, err := p.sys.Run(ctx, system.Command{Name: program, Args: []string{"pull", "--quiet", name}})
		if err == nil && done.Code != 0 {
			err = failed(done, "pull %q", name)
		}
		return err
	})
}

// Load takes in the image that fill writes.
func (p Podman) Load(ctx context.Context, name string, fill func(*Archive) error) error {
	return effect.Do("podman.image.load", func() error { return p.load(ctx, name, fill) })
}

// RemoveImage removes the image with this name, where nobody uses it. False is that
// somebody does.
func (p Podman) RemoveImage(ctx context.Context, name string) (bool, error) {
	const none, used = 1, 2
	gone := true
	err := effect.Do("podman.image.remove", func() error {
		done, err := p.run(ctx, removeLimit, "image", "rm", name)
		if err == nil && done.Code != 0 && done.Code != none && done.Code != used {
			err = failed(done, "remove the image %q", name)
		}
		gone = done.Code != used
		return err
	})
	return gone, err
}

// RemoveContainer takes away what is left of the container with this name that the
// mesh has made. What runs is ended.
func (p Podman) RemoveContainer(ctx context.Context, name string) error {
	return effect.Do("podman.container.remove", func() error {
		done, err := p.run(ctx, removeLimit, "rm", "--force", "--filter=label="+NameLabel+"="+name)
		if err == nil && done.Code != 0 {
			err = failed(done, "remove the container %q", name)
		}
		return err
	})
}

// run runs podman for at most so long: it waits for others of itself without an end.
func (p Podman) run(ctx context.Context, limit time.Duration, args ...string) (system.Done, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return p.sys.Run(ctx, system.Command{Name: program, Args: args})
}

// ask has podman answer in JSON.
func (p Podman) ask(ctx context.Context, into any, doing string, args ...string) error {
	done, err := p.run(ctx, answerLimit, args...)
	if err != nil {
		return err
	}
	if done.Code != 0 {
		return failed(done, "%s", doing)
	}
	if err := json.Unmarshal([]byte(done.Out), into); err != nil {
		return fault.Wrap(fault.Conflict, err, "%s: read what podman answers", doing)
	}
	return nil
}

// failed is what podman says against something: the last line of it, which is the error.
func failed(done system.Done, format string, args ...any) error {
	if by := blamed(done.Said); by != nil {
		return fault.Wrap(fault.Conflict, by, format, args...)
	}
	said := lastWords(done.Said)
	if said == "" {
		said = "it does not say why"
	}
	return fault.Wrap(fault.Conflict, fault.New(fault.Conflict, "podman says: %s", said), format, args...)
}

// blamed is the disk on which podman could not do what it writes.
func blamed(said string) error {
	return system.Blamed(said, "/var/lib/containers", "/run/containers", "/etc/containers", "/var/tmp")
}

// lastWords is the last line of what a program said.
func lastWords(text string) string {
	const most = 400
	text = strings.TrimSpace(text)
	text = strings.TrimPrefix(text[strings.LastIndexByte(text, '\n')+1:], "Error: ")
	if len(text) > most {
		text = "…" + text[len(text)-most:]
	}
	return strings.ToValidUTF8(text, "\ufffd")
}
