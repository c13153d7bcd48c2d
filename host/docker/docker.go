package docker

import (
	"context"
	"net/http"
	"slices"
	"time"

	"noxmesh/host/container"
	"noxmesh/host/system"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// Program is where the docker command is on a machine that has it.
const Program = "/usr/bin/docker"

const (
	program     = "docker"
	socket      = "/run/docker.sock"
	host        = "DOCKER_HOST=unix://" + socket // whatever else somebody has the command ask
	answerLimit = time.Minute                    // for a question
	removeLimit = 5 * time.Minute                // for what is to go
)

// Docker is that of one machine.
type Docker struct {
	sys    *system.Root
	socket string
	limit  time.Duration // for a question
}

// Of is the docker of this machine.
func Of(sys *system.Root) Docker { return Docker{sys, socket, answerLimit} }

// On reports whether this is a machine that has docker: its daemon, and its command.
func On(sys *system.Root) bool {
	return sys.Whole() && sys.Has(Program) && slices.ContainsFunc(system.Dockerd(), sys.Has)
}

// Containers is those with these names, as far as they are there, by name.
func (d Docker) Containers(ctx context.Context, names []string) (map[string]container.Container, error) {
	all, err := ask(ctx, d, "list containers", "/containers/json?all=1", parseContainers)
	if err != nil {
		return nil, err
	}
	found := map[string]container.Container{}
	for _, c := range all {
		if slices.Contains(names, c.Name) {
			found[c.Name] = c
		}
	}
	return found, nil
}

// Health is that of these containers, in their order.
func (d Docker) Health(ctx context.Context, ids []string) ([]container.Health, error) {
	healths := make([]container.Health, len(ids))
	for i, id := range ids {
		var err error
		if healths[i], err = ask(ctx, d, "ask for the health of a container", "/containers/"+id+"/json", parseHealth); err != nil {
			return nil, err
		}
	}
	return healths, nil
}

// Image is what has this name; false where nothing has.
func (d Docker) Image(ctx context.Context, name string) (container.Image, bool, error) {
	is, err := ask(ctx, d, "ask for the image \""+name+"\"", "/images/"+name+"/json", parseImage)
	if isAbsent(err) {
		return container.Image{}, false, nil
	}
	return is, err == nil, err
}

// Pull fetches an image by its digest, as the machine's docker fetches any.
func (d Docker) Pull(ctx context.Context, name string) error {
	return effect.Do("docker.image.pull", func() error {
		done, err := d.sys.Run(ctx, system.Command{Name: program, Args: []string{"pull", "--quiet", name}, Env: []string{host}})
		if err == nil && done.Code != 0 {
			err = d.undone(ctx, name, failed(done.Said, "pull %q", name))
		}
		return err
	})
}

// Load takes in the image that fill writes, or nothing.
func (d Docker) Load(ctx context.Context, name string, fill func(*container.Archive) error) error {
	return effect.Do("docker.image.load", func() error { return d.load(ctx, name, fill) })
}

// Stores is where it keeps images: by itself, or by containerd.
func (d Docker) Stores() []string { return []string{"/var/lib/docker", "/var/lib/containerd"} }

// RemoveImage removes the image with this name or id, unless somebody uses it.
func (d Docker) RemoveImage(ctx context.Context, name string) error {
	return effect.Do("docker.image.remove", func() error {
		err := d.tell(ctx, "remove the image \""+name+"\"", http.MethodDelete, "/images/"+name)
		if isAbsent(err) || isUsed(err) {
			return nil
		}
		return err
	})
}

// RemoveContainer takes away what is left of the container with this name that the
// mesh has made. What runs is ended.
func (d Docker) RemoveContainer(ctx context.Context, name string) error {
	return effect.Do("docker.container.remove", func() error {
		is, err := d.Containers(ctx, []string{name})
		if err != nil || !is[name].Ours() {
			return err
		}
		doing, id := "remove the container \""+name+"\"", is[name].ID
		err = d.tell(ctx, doing, http.MethodDelete, "/containers/"+id+"?force=1")
		if isUsed(err) { // docker is at it already
			err = d.tell(ctx, doing, http.MethodPost, "/containers/"+id+"/wait?condition=removed")
		}
		if isAbsent(err) {
			return nil
		}
		return err
	})
}

// undone is why an image has not come. Docker may have noted that it is there before it
// had unpacked it: what has come of it goes, so that it is never taken for the whole.
func (d Docker) undone(ctx context.Context, name string, why error) error {
	if err := d.tell(ctx, "remove what has come of it", http.MethodDelete, "/images/"+name); err != nil && !isAbsent(err) && !isUsed(err) {
		return fault.Wrap(fault.Conflict, err, "%s", why.Error())
	}
	return why
}

// failed is what docker says against something, or the disk on which it could not do
// what it writes.
func failed(said, format string, args ...any) error {
	by := system.Blamed(said, "/var/lib/docker", "/var/lib/containerd", "/run/docker")
	return container.Failed("docker", said, by, format, args...)
}
