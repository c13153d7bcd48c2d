package host

import (
	"errors"
	"path/filepath"

	"noxmesh/declaration"
	"noxmesh/host/keep"
	"noxmesh/host/system"
	"noxmesh/host/version"
	"noxmesh/internal/fault"
	"noxmesh/report"
)

// Standing is what a host's state says, for people.
type Standing struct {
	Running   string            `json:"running,omitempty"` // the process that holds the state
	Mesh      string            `json:"mesh,omitempty"`
	Node      string            `json:"node,omitempty"`
	Name      string            `json:"name,omitempty"`
	Accepted  declaration.Tuple `json:"accepted"`
	Applied   declaration.Tuple `json:"applied"`
	Trouble   *report.Trouble   `json:"trouble,omitempty"`
	Report    *report.Report    `json:"report,omitempty"`
	Told      bool              `json:"told"`             // the controller has the report
	Looked    int64             `json:"looked,omitempty"` // when the machine was last found as the report says, Unix milliseconds
	Made      int               `json:"made"`
	TakenOver int               `json:"taken_over"`

	Version    string `json:"version"`               // of the host that says all this
	Confirmed  string `json:"confirmed,omitempty"`   // the version that was confirmed last; none where no package has put the host there
	Installed  string `json:"installed,omitempty"`   // the version that the package has put there
	RolledBack string `json:"rolled_back,omitempty"` // why the installed version does not run
}

// Status reads the state of the host at this root, beside a host that may be running.
func Status(cfg Config) (_ Standing, err error) {
	if err := cfg.Validate(); err != nil {
		return Standing{}, err
	}
	sys, err := system.Open(cfg.Root)
	if err != nil {
		return Standing{}, err
	}
	defer func() { err = errors.Join(err, sys.Close()) }()
	f, err := keep.Look(sys)
	if err != nil {
		return Standing{}, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	s, err := standing(f)
	if err != nil {
		return s, err
	}
	v := version.Here(filepath.Join(cfg.Root, version.Folder), f.Name(), cfg.Version, "")
	s.Version, s.Confirmed, s.Installed = cfg.Version, v.Confirmed(), v.Installed()
	s.RolledBack, err = v.Refused(s.Installed)
	return s, err
}

func standing(f *keep.Folder) (Standing, error) {
	var s Standing
	if pid, ok := f.Running(); ok {
		s.Running = pid
	}
	j, err := f.Joined()
	if known(err) != nil {
		return s, err
	}
	s.Mesh, s.Node, s.Name = j.Mesh, j.Node, j.Name
	envelope, err := f.Accepted()
	if known(err) != nil {
		return s, err
	}
	if err == nil {
		d, err := declaration.Decode(envelope.Payload)
		if err != nil {
			return s, err
		}
		if s.Accepted, err = d.Tuple(); err != nil {
			return s, err
		}
	}
	state, err := f.State()
	if err != nil {
		return s, err
	}
	s.Applied, s.Trouble = state.Applied, state.Trouble
	return s, s.rest(f)
}

func (s *Standing) rest(f *keep.Folder) error {
	l, err := f.Latest()
	if known(err) != nil {
		return err
	}
	if err == nil {
		s.Report, s.Told, s.Looked = &l.Report, l.Committed, f.LastLook().UnixMilli()
	}
	record, err := f.Record()
	if err != nil {
		return err
	}
	for e := range record.Entries.All() {
		s.add(e.Origin)
	}
	for _, h := range record.Holds {
		s.add(h.Origin)
	}
	return nil
}

func (s *Standing) add(o keep.Origin) {
	if o == keep.Made {
		s.Made++
	} else {
		s.TakenOver++
	}
}

// known is err, but for "there is none yet".
func known(err error) error {
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	return err
}
