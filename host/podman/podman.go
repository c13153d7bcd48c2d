package podman

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"noxmesh/host/container"
	"noxmesh/host/system"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// Program is where podman is on a machine that has it.
const Program = "/usr/bin/podman"

const (
	program     = "podman"
	storage     = "/var/lib/containers"
	answerLimit = time.Minute     // for a question
	removeLimit = 5 * time.Minute // for what is to go
)

// Podman is that of one machine.
type Podman struct{ sys *system.Root }

// Of is the podman of this machine.
func Of(sys *system.Root) Podman { return Podman{sys} }

// Containers is those with these names, as far as they are there, by name.
func (p Podman) Containers(ctx context.Context, names []string) (map[string]container.Container, error) {
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
	found := map[string]container.Container{}
	for _, c := range all {
		for _, name := range c.Names {
			if slices.Contains(names, name) { // a dot in a name stands for any letter in the filter
				found[name] = container.Container{ID: c.ID, Name: name, Image: c.ImageID, Called: c.Image, Running: c.State == "running", Labels: c.Labels}
			}
		}
	}
	return found, nil
}

// Health is that of these containers, in their order.
func (p Podman) Health(ctx context.Context, ids []string) ([]container.Health, error) {
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
	healths := make([]container.Health, len(all))
	for i, c := range all {
		healths[i].Status = c.State.Health.Status
		if log := c.State.Health.Log; len(log) > 0 {
			healths[i].Says = container.LastWords(log[len(log)-1].Output)
		}
	}
	return healths, nil
}

// Image is the image with this name, which says a digest or a tag; false where there
// is none.
func (p Podman) Image(ctx context.Context, name string) (container.Image, bool, error) {
	var all []struct {
		ID          string `json:"Id"`
		Digest      string
		RepoDigests []string
		Healthcheck *container.Check
	}
	if err := p.ask(ctx, &all, "ask for the image \""+name+"\"", "image", "inspect", "--format=json", name); err != nil {
		// Only another question says whether that is why.
		done, bad := p.run(ctx, answerLimit, "image", "exists", name)
		if bad == nil && done.Code == 1 {
			return container.Image{}, false, nil
		}
		return container.Image{}, false, err
	}
	if len(all) != 1 {
		return container.Image{}, false, fault.New(fault.Conflict, "ask for the image %q: podman tells of %d", name, len(all))
	}
	is := container.Image{ID: all[0].ID, Digests: []string{all[0].Digest}, Check: all[0].Healthcheck.Sound()}
	for _, full := range all[0].RepoDigests {
		_, digest, _ := strings.Cut(full, "@")
		is.Digests = append(is.Digests, digest)
	}
	return is, true, nil
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
func (p Podman) Load(ctx context.Context, name string, fill func(*container.Archive) error) error {
	return effect.Do("podman.image.load", func() error { return p.load(ctx, name, fill) })
}

// Stores is where it keeps images, as it is set up everywhere.
func (p Podman) Stores() []string { return []string{storage} }

// RemoveImage removes the image with this name or id, unless somebody uses it.
func (p Podman) RemoveImage(ctx context.Context, name string) error {
	const none, used = 1, 2
	return effect.Do("podman.image.remove", func() error {
		done, err := p.run(ctx, removeLimit, "image", "rm", name)
		if err == nil && done.Code != 0 && done.Code != none && done.Code != used {
			err = failed(done, "remove the image %q", name)
		}
		return err
	})
}

// RemoveContainer takes away what is left of the container with this name that the
// mesh has made. What runs is ended.
func (p Podman) RemoveContainer(ctx context.Context, name string) error {
	return effect.Do("podman.container.remove", func() error {
		done, err := p.run(ctx, removeLimit, "rm", "--force", "--filter=label="+container.NameLabel+"="+name)
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
	return container.Failed("podman", done.Said, blamed(done.Said), format, args...)
}

// blamed is the disk on which podman could not do what it writes.
func blamed(said string) error {
	return system.Blamed(said, storage, "/run/containers", "/etc/containers", "/var/tmp")
}
