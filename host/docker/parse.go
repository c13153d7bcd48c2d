package docker

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	"noxmesh/host/container"
)

// parseContainers reads a list of containers.
func parseContainers(text []byte) ([]container.Container, error) {
	var all []struct {
		ID             string `json:"Id"`
		Names          []string
		Image, ImageID string
		State          string
		Labels         map[string]string
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	var found []container.Container
	for _, c := range all {
		called := c.Image
		if name := c.Labels[container.ImageLabel]; name != "" {
			called = name
		}
		for _, full := range c.Names {
			name, own := strings.CutPrefix(full, "/")
			if own && !strings.Contains(name, "/") { // and not what another container calls it
				found = append(found, container.Container{ID: c.ID, Name: name, Image: c.ImageID, Called: called, Running: c.State == "running", Labels: c.Labels})
			}
		}
	}
	return found, nil
}

// parseHealth reads what the check of a container has come to.
func parseHealth(text []byte) (container.Health, error) {
	var c struct {
		State struct {
			Health struct {
				Status string
				Log    []struct{ Output string }
			}
		}
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return container.Health{}, err
	}
	is := container.Health{Status: c.State.Health.Status}
	if is.Status == "none" {
		is.Status = ""
	}
	if log := c.State.Health.Log; len(log) > 0 {
		is.Says = container.LastWords(log[len(log)-1].Output)
	}
	return is, nil
}

// parseImage reads what an image is. Docker knows it by the digest of its configuration,
// or, where it keeps images as containerd does, by that of its manifest; and by what it
// was pulled as.
func parseImage(text []byte) (container.Image, error) {
	var i struct {
		ID          string `json:"Id"`
		RepoDigests []string
		Config      *struct{ Healthcheck *container.Check }
	}
	if err := json.Unmarshal(text, &i); err != nil {
		return container.Image{}, err
	}
	if i.ID == "" {
		return container.Image{}, errors.New("it does not say which image it is")
	}
	is := container.Image{ID: i.ID, Digests: []string{i.ID}}
	if i.Config != nil {
		is.Check = i.Config.Healthcheck.Sound()
	}
	for _, full := range i.RepoDigests {
		_, digest, _ := strings.Cut(full, "@")
		is.Digests = append(is.Digests, digest)
	}
	return is, nil
}

// parseRefusal reads why docker does not do something.
func parseRefusal(text []byte) string {
	var r struct{ Message string }
	if err := json.Unmarshal(text, &r); err != nil || r.Message == "" {
		r.Message = string(text)
	}
	if said := container.LastWords(r.Message); said != "" {
		return said
	}
	return "it does not say why"
}

// parseLoaded reads how docker has taken in an image: why not, or nothing. It says how
// it goes as it goes, with a document for each step.
func parseLoaded(text []byte) (why string, err error) {
	steps := json.NewDecoder(strings.NewReader(string(text)))
	for {
		var step struct {
			Error string `json:"error"`
		}
		switch err := steps.Decode(&step); {
		case errors.Is(err, io.EOF):
			return "", nil
		case err != nil:
			return "", err
		case step.Error != "":
			return container.LastWords(step.Error), nil
		}
	}
}
