package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"noxmesh/api"
	"noxmesh/internal/fault"
)

// devUp is what mesh dev prints when everything runs.
type devUp struct {
	Dir        string   `json:"dir"`
	Controller string   `json:"controller"` // its socket
	Nodes      string   `json:"nodes"`      // the folder that has one for each
	Log        string   `json:"log"`        // the folder of logs
	Running    []string `json:"running"`    // names of nodes
	Off        []string `json:"off"`        // switched off, or more than --hosts
}

// bringUp lets the builder and the hosts join, where they have not, and starts them.
func (d *dev) bringUp(ctx context.Context, group *errgroup.Group) error {
	if err := d.controllerAnswers(ctx); err != nil {
		return err
	}
	d.up.Store(true)
	d.out.Progress("starting the builder and %d nodes", d.hosts)
	if err := d.joinBuilder(ctx); err != nil {
		return err
	}
	group.Go(func() error { return d.keep(ctx, d.builderChild()) })
	for i := range d.hosts {
		name := nodeName(i)
		if err := d.joinHost(ctx, name); err != nil {
			return err
		}
		group.Go(func() error { return d.keep(ctx, d.hostChild(name)) })
	}
	return d.tell()
}

// controllerAnswers waits until the controller does.
func (d *dev) controllerAnswers(ctx context.Context) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := api.Do(ctx, d.client, api.Version(), api.Nothing{}); err == nil {
			return nil
		}
		d.out.Progress("starting the controller")
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// joinBuilder lets the builder join. One that was killed while it joined, so that
// only the controller knows of it, is another builder now.
func (d *dev) joinBuilder(ctx context.Context) error {
	joined, err := d.builderJoined(ctx)
	if joined || err != nil {
		return err
	}
	const name = "builder"
	known, err := api.Do(ctx, d.client, api.Builders(), api.Nothing{})
	if err != nil {
		return err
	}
	if slices.ContainsFunc(known.Builders, func(b api.BuilderOut) bool { return b.Name == name }) {
		if _, err := api.Do(ctx, d.client, api.BuilderRemove(), api.BuilderIn{Builder: name}); err != nil {
			return err
		}
	}
	t, err := api.Do(ctx, d.client, api.BuilderAdd(), api.BuilderIn{Builder: name})
	if err != nil {
		return err
	}
	return d.once(ctx, "mesh-builder", "join", "--state", d.path("builder"), t.Token)
}

// joinHost lets a host join. A host that was killed while it joined, so that
// only the controller knows of it, is another node now.
func (d *dev) joinHost(ctx context.Context, name string) error {
	root := d.path("nodes", name)
	if err := os.MkdirAll(root, 0o755); err != nil {
		return fault.Wrap(fault.Unavailable, err, "make the folder of %s", name)
	}
	joined, err := d.hostJoined(ctx, root)
	if joined || err != nil {
		return err
	}
	known, err := api.Do(ctx, d.client, api.NodeShow(), api.NodeIn{Node: name})
	if err == nil && !known.JoinedAt.IsZero() {
		if _, err := api.Do(ctx, d.client, api.NodeRemove(), api.NodeIn{Node: name}); err != nil {
			return err
		}
	}
	t, err := api.Do(ctx, d.client, api.NodeAdd(), api.NodeAddIn{Node: name})
	if err != nil {
		return err
	}
	return d.once(ctx, "mesh-host", "join", "--root", root, t.Token)
}

// builderJoined asks the builder whether it is in a mesh. It answers with 0 only then.
func (d *dev) builderJoined(ctx context.Context) (bool, error) {
	path, err := d.program("mesh-builder")
	if err != nil {
		return false, err
	}
	return exec.CommandContext(ctx, path, "status", "--state", d.path("builder")).Run() == nil, ctx.Err()
}

// hostJoined asks the host whether it is in a mesh. That it is not must be its
// word: a node that is taken for a new one loses its place.
func (d *dev) hostJoined(ctx context.Context, root string) (bool, error) {
	path, err := d.program("mesh-host")
	if err != nil {
		return false, err
	}
	var says, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, path, "status", "--root", root, "-o", "json")
	cmd.Stdout, cmd.Stderr = &says, &errs
	if err := cmd.Run(); err == nil {
		var status struct {
			Node string `json:"node"`
		}
		if err := json.Unmarshal(says.Bytes(), &status); err != nil {
			return false, fault.Wrap(fault.Broken, err, "read the status of the host in %q", root)
		}
		return status.Node != "", nil
	}
	var refused struct {
		Error struct {
			Kind string `json:"kind"`
			Text string `json:"text"`
		} `json:"error"`
	}
	if err := json.Unmarshal(errs.Bytes(), &refused); err != nil {
		return false, fault.New(fault.Unavailable, "ask the host in %q for its status: %s", root, firstLine(errs.String()))
	}
	if kind, _ := fault.ParseKind(refused.Error.Kind); kind != fault.NotFound {
		return false, fault.New(fault.Unavailable, "ask the host in %q for its status: %s", root, refused.Error.Text)
	}
	return false, nil
}

// tell says where everything is and what to type next.
func (d *dev) tell() error {
	names, err := d.nodes()
	if err != nil {
		return err
	}
	up := devUp{
		Dir: d.dir, Controller: d.socket(), Nodes: d.path("nodes"), Log: d.path("log"), Running: []string{}, Off: []string{},
	}
	var off, more []string
	for i, name := range names {
		switch {
		case i >= d.hosts:
			more = append(more, name)
		case exists(d.path("off", name)):
			off = append(off, name)
		default:
			up.Running = append(up.Running, name)
		}
	}
	up.Off = append(append(up.Off, off...), more...)
	d.out.Done()
	d.show(up, func() { d.tellText(up, off, more) })
	return nil
}

func (d *dev) tellText(up devUp, off, more []string) {
	d.line("a mesh runs on this machine: a controller, a builder, %s", nodesWord(len(up.Running)))
	d.line("  nodes        %s", up.Nodes)
	d.line("  logs         %s", up.Log)
	d.line("  controller   %s", up.Controller)
	for _, name := range off {
		d.line("  %s is switched off: mesh dev start %s", name, name)
	}
	if len(more) > 0 {
		d.line("  not started: %s; --hosts %d starts them too", listed(more), d.hosts+len(more))
	}
	at := ""
	if d.dir != absolute(devFolder) {
		at = " --controller " + up.Controller
	}
	d.line("in another terminal, in this folder:")
	d.line("  mesh%s module add NAME REPOSITORY    a repository with module.json at its root", at)
	d.line("  mesh%s assign NAME NODE", at)
	d.line("  mesh%s policy NAME auto", at)
	d.line("  mesh%s status", at)
	d.line("ctrl-C stops it")
}

func nodesWord(n int) string {
	switch n {
	case 0:
		return "no nodes"
	case 1:
		return "1 node"
	}
	return strconv.Itoa(n) + " nodes"
}

func absolute(path string) string {
	whole, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	return whole
}
