package host

import (
	"cmp"
	"fmt"
	"runtime"
	"strings"
	"time"

	"noxmesh/declaration"
	"noxmesh/host/keep"
	"noxmesh/internal/term"
	"noxmesh/report"
)

// showApply prints what was not as declared, and the sum.
func showApply(r report.Report, t *term.Term) int {
	if t.JSON {
		if err := t.Result(r); err != nil {
			return t.Fail(err)
		}
		return ended(r)
	}
	var lines strings.Builder // as one: a first apply has thousands
	counts := map[report.State]int{}
	for _, res := range r.Resources {
		counts[res.State]++
		if res.State == report.StateOK {
			continue
		}
		lines.WriteString(lineOf(res))
	}
	differ := ""
	if n := counts[report.StateDiffers]; n > 0 {
		differ = fmt.Sprintf(", %d differ", n)
	}
	err := t.Printf("%s%s: %d as declared, %d changed, %d removed, %d failed, %d blocked, %d waiting%s\n", lines.String(), r.Outcome,
		counts[report.StateOK], counts[report.StateChanged], counts[report.StateRemoved],
		counts[report.StateFailed], counts[report.StateBlocked], counts[report.StateWaiting], differ)
	if err != nil {
		return t.Fail(err)
	}
	return ended(r)
}

func lineOf(r report.Resource) string {
	says := r.Error
	switch {
	case says != "":
	case r.State != report.StateChanged:
		says = r.Found
	case r.Found == "nothing":
		says = "made"
	case r.Found != "":
		says = "was " + r.Found
	}
	if r.Fixed {
		says += " (drift, put back)"
	}
	return fmt.Sprintf("%-8s %s  %s\n", r.State, term.Clean(r.ID), term.Clean(says))
}

func showVersion(version string, t *term.Term) int {
	var err error
	if t.JSON {
		err = t.Result(map[string]any{"version": version, "platform": runtime.GOOS + "/" + runtime.GOARCH, "speaks": speaks()})
	} else {
		err = t.Printf("mesh-host %s %s/%s, declarations of format %d\n", version, runtime.GOOS, runtime.GOARCH, declaration.Format)
	}
	if err != nil {
		return t.Fail(err)
	}
	return term.Answered
}

// speaks is the declaration formats that this program understands.
func speaks() []int { return []int{declaration.Format} }

func showJoined(j keep.Joined, t *term.Term) int {
	var err error
	if t.JSON {
		err = t.Result(map[string]string{"mesh": j.Mesh, "node": j.Node, "name": j.Name})
	} else {
		err = t.Printf("joined mesh %s as %s (node %s)\n", term.Clean(j.Mesh), term.Clean(j.Name), term.Clean(j.Node))
		t.Hint("systemctl start nox-mesh-host keeps it, where the package is installed; mesh-host run does without")
	}
	if err != nil {
		return t.Fail(err)
	}
	return term.Answered
}

func showStatus(s Standing, t *term.Term) int {
	code := term.Answered
	if s.Report != nil {
		code = ended(*s.Report)
	}
	if t.JSON {
		if err := t.Result(s); err != nil {
			return t.Fail(err)
		}
		return code
	}
	for _, l := range s.lines() {
		if err := t.Printf("%-9s %s\n", l[0], term.Clean(l[1])); err != nil {
			return t.Fail(err)
		}
	}
	return code
}

func (s Standing) lines() [][2]string {
	lines := [][2]string{{"node", s.Name + " (" + s.Node + ") of mesh " + s.Mesh}}
	if s.Mesh == "" {
		lines[0][1] = "of no mesh"
	}
	running := "no"
	if s.Running != "" {
		running = "pid " + s.Running
	}
	lines = append(lines, [2]string{"running", running}, [2]string{"version", s.versions()}, [2]string{"accepted", order(s.Accepted)}, [2]string{"applied", order(s.Applied)},
		[2]string{"record", fmt.Sprintf("%d things made, %d taken over", s.Made, s.TakenOver)})
	if s.Report == nil {
		return lines
	}
	told := "the mesh has it"
	if !s.Told {
		told = "not yet told"
	}
	lines = append(lines, [2]string{"report", fmt.Sprintf("%s at %s, %s", s.Report.Outcome, stamp(s.Report.Ended), told)})
	if s.Looked-s.Report.Ended > time.Minute.Milliseconds() {
		lines = append(lines, [2]string{"looked", stamp(s.Looked) + ", and found the same"})
	}
	for _, r := range s.Report.Resources {
		if why := cmp.Or(r.Error, r.Found); r.Error != "" || r.State == report.StateDiffers {
			lines = append(lines, [2]string{string(r.State), r.ID + ": " + why})
		}
		if c := r.Contested; c != nil {
			lines = append(lines, [2]string{"contested", fmt.Sprintf("%s: put back %d times since %s", r.ID, c.Count, stamp(c.Since))})
		}
	}
	if s.Trouble != nil {
		lines = append(lines, [2]string{"trouble", fmt.Sprintf("%d times in a row, since %s", s.Trouble.Count, stamp(s.Trouble.Since))})
	}
	return lines
}

// versions is the version of the host, and what is to be known of others.
func (s Standing) versions() string {
	switch {
	case s.RolledBack != "":
		return s.Version + "; " + s.Installed + " is installed, and was rolled back: " + s.RolledBack
	case s.Installed != "" && s.Confirmed != s.Version:
		return s.Version + ", confirming"
	case s.Installed != "" && s.Installed != s.Version:
		return s.Version + "; " + s.Installed + " is installed, and is not started yet"
	}
	return s.Version
}

func order(t declaration.Tuple) string {
	if t == none {
		return "nothing yet"
	}
	return fmt.Sprintf("%d/%d %s", t.Epoch, t.Generation, t.Digest.Short())
}

func stamp(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }
