package report

import (
	"strconv"
	"strings"
	"unicode/utf8"

	mesh "noxmesh"
	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/internal/fault"
)

// What a report may hold at most: a node cannot make the record large.
const (
	TextLimit     = 4 << 10 // an error, or what was found
	ResourceLimit = 20_000
	wordLimit     = 255 // a version, a host name, a boot id
	wordsLimit    = 256 // how many capabilities
	pathLimit     = 4095
)

// Decode reads one report. All faults that can be found are said at once, as
// document.Problems in a fault.Invalid.
func Decode(data []byte) (Report, error) { return form().Decode(data) }

// Encode is r in its one encoding: what is signed.
func (r Report) Encode() ([]byte, error) { return form().Encode(r) }

func form() document.Form[Report] {
	return document.Form[Report]{
		Name: "report", Limits: Limits, Speaks: Format, Reader: "this controller", Upgrade: "upgrade the controller", Check: check,
	}
}

// ParseCause is the cause with this name; any other word is refused.
func ParseCause(s string) (Cause, error) {
	switch c := Cause(s); c {
	case CauseDeclaration, CauseDrift, CauseStart, CauseEvent:
		return c, nil
	}
	return "", fault.New(fault.Invalid, "%q is not a cause: %s", document.Short(s), wantCause)
}

// ParseOutcome is the outcome with this name; any other word is refused.
func ParseOutcome(s string) (Outcome, error) {
	switch o := Outcome(s); o {
	case OutcomeApplied, OutcomeFailed, OutcomeConfirming:
		return o, nil
	}
	return "", fault.New(fault.Invalid, "%q is not an outcome: %s", document.Short(s), wantOutcome)
}

// ParseState is the state with this name; any other word is refused.
func ParseState(s string) (State, error) {
	switch st := State(s); st {
	case StateOK, StateChanged, StateDiffers, StateWaiting, StateFailed, StateBlocked, StateRemoved:
		return st, nil
	}
	return "", fault.New(fault.Invalid, "%q is not a state: %s", document.Short(s), wantState)
}

const (
	wantCause   = "want declaration, drift, start or event"
	wantOutcome = "want applied, failed or confirming"
	wantState   = "want ok, changed, differs, waiting, failed, blocked or removed"
)

// resourceID reports whether s is an id as a declaration has it: module/id.
func resourceID(s string) bool {
	module, id, _ := strings.Cut(s, "/")
	return mesh.ValidModuleName(module) && mesh.ValidModuleName(id)
}

func check(v Report, r *document.Reading) {
	c := checker{r}
	c.id("mesh", v.Mesh)
	c.id("node", v.Node)
	c.text("boot", v.Boot, wordLimit)
	c.least("sequence", v.Sequence, 1)
	c.tuple("accepted", v.Accepted)
	c.tuple("applied", v.Applied)
	c.text("host", v.Host, wordLimit)
	if _, err := ParseCause(string(v.Cause)); err != nil {
		c.Fault("cause", wantCause, "%q is not a cause", document.Short(string(v.Cause)))
	}
	if _, err := ParseOutcome(string(v.Outcome)); err != nil {
		c.Fault("outcome", wantOutcome, "%q is not an outcome", document.Short(string(v.Outcome)))
	}
	c.least("began", v.Began, 0)
	c.least("ended", v.Ended, 0)
	if v.Trouble != nil {
		c.text("trouble.fingerprint", v.Trouble.Fingerprint, wordLimit)
		c.least("trouble.since", v.Trouble.Since, 0)
		c.least("trouble.count", v.Trouble.Count, 1)
	}
	c.modules(v.Modules)
	c.resources(v.Resources)
	c.outcome(v)
	if v.Facts != nil {
		c.facts(*v.Facts)
	}
}

type checker struct{ *document.Reading }

func (c checker) id(path, id string) {
	if !mesh.ValidID(id) {
		c.Fault(path, "want 8 to 32 lower-case letters and digits", "%q is not an id", document.Short(id))
	}
}

func (c checker) least(path string, n, least int64) {
	if n < least {
		c.Fault(path, "want "+strconv.FormatInt(least, 10)+" or more", "it is %d", n)
	}
}

// text checks words that a node says of itself: they are stored and shown, so
// they are bounded. What a terminal obeys is made visible where it is shown.
func (c checker) text(path, s string, most int) {
	if len(s) > most {
		c.Fault(path, "want at most "+strconv.Itoa(most), "%d bytes", len(s))
	}
	if !utf8.ValidString(s) {
		c.Fault(path, "write what is no UTF-8 as something that is", "it is not UTF-8")
	}
}

// tuple checks that there is a declaration, or none at all.
func (c checker) tuple(path string, t declaration.Tuple) {
	if t == (declaration.Tuple{}) {
		return
	}
	c.least(path+".epoch", t.Epoch, 1)
	c.least(path+".generation", t.Generation, 1)
	c.digest(path+".digest", t.Digest)
}

func (c checker) digest(path string, d document.Digest) {
	if !d.Valid() {
		c.Fault(path, "want sha256: and 64 lower-case hexadecimal digits", "%q is not a digest", document.Short(string(d)))
	}
}

func (c checker) modules(modules []declaration.Module) {
	seen := map[string]bool{}
	for i, m := range modules {
		at := document.At("modules", i)
		if !mesh.ValidModuleName(m.Module) {
			c.Fault(at+".module", "want lower-case letters, digits and inner hyphens, at most 63", "%q is not the name of a module", document.Short(m.Module))
		}
		if seen[m.Module] {
			c.Fault(at+".module", "want each module once", "%q is there twice", document.Short(m.Module))
		}
		seen[m.Module] = true
		c.digest(at+".content", m.Content)
	}
}

func (c checker) resources(resources []Resource) {
	if len(resources) > ResourceLimit {
		c.Fault("resources", "want at most "+strconv.Itoa(ResourceLimit), "%d resources", len(resources))
		return
	}
	seen := map[string]bool{}
	for i, res := range resources {
		at := document.At("resources", i)
		if !resourceID(res.ID) {
			c.Fault(at+".id", "want MODULE/ID", "%q is not the id of a resource", document.Short(res.ID))
		}
		if seen[res.ID] {
			c.Fault(at+".id", "want each resource once", "%q is there twice", document.Short(res.ID))
		}
		seen[res.ID] = true
		c.state(at, res)
		c.text(at+".error", res.Error, TextLimit)
		c.text(at+".found", res.Found, TextLimit)
	}
}

// outcome checks that a whole is not said to be applied whose parts are not.
func (c checker) outcome(v Report) {
	if v.Outcome != OutcomeApplied {
		return
	}
	for i, res := range v.Resources {
		if res.State == StateFailed || res.State == StateBlocked {
			c.Fault(document.At("resources", i)+".state", "the outcome is failed if a resource has", "%s, and the outcome is applied", res.State)
		}
	}
}

// state checks what the state says against the rest: only what is declared can
// have been read back as declared, and only what is not can have been removed.
func (c checker) state(at string, res Resource) {
	state, err := ParseState(string(res.State))
	if err != nil {
		c.Fault(at+".state", wantState, "%q is not a state", document.Short(string(res.State)))
		return
	}
	if res.Digest != "" {
		c.digest(at+".digest", res.Digest)
	}
	if res.Contested != nil {
		c.least(at+".contested.since", res.Contested.Since, 0)
		c.least(at+".contested.count", res.Contested.Count, 1)
	}
	declared := res.Digest != ""
	switch state {
	case StateOK, StateChanged:
		if !declared {
			c.Fault(at+".state", "say of which resource, in digest", "%s, and no digest", state)
		}
	case StateRemoved:
		if declared {
			c.FaultKey(at+".digest", "take it out", "what is removed is no longer declared")
		}
	case StateDiffers, StateWaiting, StateFailed, StateBlocked:
	}
}

func (c checker) facts(f Facts) {
	c.text("facts.os", f.OS, wordLimit)
	c.text("facts.arch", f.Arch, wordLimit)
	c.text("facts.hostname", f.Hostname, wordLimit)
	if f.Machine != nil {
		c.machine(*f.Machine)
	}
	if len(f.Capabilities) > wordsLimit {
		c.Fault("facts.capabilities", "want at most "+strconv.Itoa(wordsLimit), "%d capabilities", len(f.Capabilities))
		return
	}
	for i, name := range f.Capabilities {
		c.text(document.At("facts.capabilities", i), name, wordLimit)
	}
}

func (c checker) machine(m Machine) {
	for _, w := range []struct{ key, text string }{{"system", m.System}, {"kernel", m.Kernel}, {"virtual", m.Virtual}} {
		c.text("facts.machine."+w.key, w.text, wordLimit)
	}
	c.least("facts.machine.memory", m.Memory, 0)
	if len(m.Disks) > wordsLimit || len(m.Addresses) > wordsLimit {
		c.Fault("facts.machine", "want at most "+strconv.Itoa(wordsLimit)+" of each", "%d disks and %d addresses", len(m.Disks), len(m.Addresses))
		return
	}
	for i, d := range m.Disks {
		at := document.At("facts.machine.disks", i)
		c.text(at+".mount", d.Mount, pathLimit)
		c.text(at+".type", d.Type, wordLimit)
		c.least(at+".size", d.Size, 0)
	}
	for i, a := range m.Addresses {
		c.text(document.At("facts.machine.addresses", i), a, wordLimit)
	}
}

// Schema is the JSON Schema of the report, by its types.
func Schema() ([]byte, error) { return form().Schema() }
