package builder

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sync/errgroup"

	"noxmesh/internal/fault"
)

// pipes are what goes between the builder and bubblewrap beside the command's
// output: what bubblewrap says of its child, when the child may begin, and the
// filter of system calls.
type pipes struct {
	status *os.File // ours: what bubblewrap says
	begin  *os.File // ours: closed, the child begins
	theirs []*os.File
	filter bool
	door   *door // where there is a network
}

func openPipes() (p *pipes, err error) {
	p = &pipes{}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	var status, begin *os.File
	if p.status, status, err = os.Pipe(); err != nil {
		return p, fault.Wrap(fault.Unavailable, err, "make a sandbox")
	}
	p.theirs = append(p.theirs, status)
	if begin, p.begin, err = os.Pipe(); err != nil {
		return p, fault.Wrap(fault.Unavailable, err, "make a sandbox")
	}
	p.theirs = append(p.theirs, begin)
	calls, err := filterFile()
	if calls != nil {
		p.theirs, p.filter = append(p.theirs, calls), true
	}
	return p, err
}

// args are bubblewrap's words for them.
func (p *pipes) args() []string {
	a := []string{"--json-status-fd", "3", "--block-fd", "4"}
	if p.filter {
		a = append(a, "--seccomp", "5")
	}
	return a
}

func (p *pipes) close() {
	for _, f := range append(p.theirs, p.status, p.begin) {
		if f != nil {
			f.Close()
		}
	}
	if p.door != nil {
		_ = p.door.ours.Close() // it was read, or nobody will
	}
}

// status is what bwrap says of its child: its exit status only where the
// command was reached.
type status struct {
	Pid  *int `json:"child-pid"`
	Exit *int `json:"exit-code"`
}

// through runs bubblewrap. Its child begins when it is in its group, and is ended
// when the group has met a limit.
func (p *pipes) through(cmd *exec.Cmd, box *group, end context.CancelCauseFunc) (said status, err error) {
	err = cmd.Start()
	for _, f := range p.theirs {
		f.Close()
	}
	p.theirs = nil
	if err != nil {
		return said, err
	}
	all := json.NewDecoder(p.status)
	if err := p.status.SetReadDeadline(time.Now().Add(settleTime)); err != nil {
		end(err)
	}
	// Without a first word bubblewrap has ended, and says why elsewhere.
	if all.Decode(&said) == nil && said.Pid != nil {
		if err := box.enter(*said.Pid); err != nil {
			end(err)
		}
	}
	p.begin.Close()
	watch, unwatch := context.WithCancel(context.Background())
	beside := errgroup.Group{}
	beside.Go(func() error { return box.watch(watch, end) })
	beside.Go(func() error { return p.door.serve(watch) })
	err = cmd.Wait()
	unwatch()
	err = errors.Join(err, beside.Wait(), p.status.SetReadDeadline(time.Now().Add(settleTime)))
	if late := rest(all, &said); err == nil {
		err = late
	}
	return said, err
}

// rest reads what bubblewrap says until its end, or until it was cut off.
func rest(all *json.Decoder, said *status) error {
	for {
		switch err := all.Decode(said); {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return fault.Wrap(fault.Unavailable, err, "read how the sandbox ended")
		case err != nil:
			return nil //nolint:nilerr // it is the end
		}
	}
}

// groupEvery is how often a group is asked whether it has met a limit.
const groupEvery = 200 * time.Millisecond

// watch ends a command whose group has met a limit, until ctx ends.
func (g *group) watch(ctx context.Context, end context.CancelCauseFunc) error {
	tick := time.NewTicker(groupEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if over := g.over(); over != nil {
			end(over)
			return nil
		}
	}
}
