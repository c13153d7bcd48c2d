package provenance

import (
	"maps"
	"slices"
	"strconv"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

// Decode reads one statement. All faults that can be found are said at once, as
// document.Problems in a fault.Invalid. Who signed it, and whether it is so, are
// other questions: see Verify.
func Decode(data []byte) (Statement, error) { return form().Decode(data) }

// Encode is s in its one encoding: what is signed.
func (s Statement) Encode() ([]byte, error) { return form().Encode(s) }

func form() document.Form[Statement] {
	return document.Form[Statement]{Name: "provenance", Limits: Limits, Check: check}
}

func check(s Statement, r *document.Reading) {
	for _, is := range []struct{ path, says, want string }{
		{"_type", s.Type, StatementType},
		{"predicateType", s.PredicateType, PredicateType},
		{"predicate.buildDefinition.buildType", s.Predicate.Definition.Type, BuildType},
	} {
		if is.says != is.want {
			r.Fault(is.path, "want "+is.want, "%q", document.Short(is.says))
		}
	}
	if len(s.Subject) == 0 {
		r.Fault("subject", "want what it is about", "it is about nothing")
	}
	resources(s.Subject, "subject", r)
	resources(s.Predicate.Definition.Dependencies, "predicate.buildDefinition.resolvedDependencies", r)
	if m := s.Predicate.Run.Metadata; !m.sound() {
		r.Fault("predicate.runDetails.metadata", "want two times in UTC, as 2026-11-30T07:00:00.000Z, the later one last",
			"startedOn %q, finishedOn %q", document.Short(m.Started), document.Short(m.Finished))
	}
}

func (m Metadata) sound() bool {
	began, finished, ok := m.times()
	return ok && !finished.Before(began)
}

func resources(all []Resource, path string, r *document.Reading) {
	for i, one := range all {
		at := document.At(path, i) + ".digest"
		if len(one.Digest) != 1 {
			r.Fault(at, "want one", "%d digests", len(one.Digest))
		}
		for algorithm, digest := range one.Digest {
			switch {
			case algorithm == gitCommit && document.IsObjectID(digest), document.Digest(algorithm + ":" + digest).Valid():
			default:
				r.Fault(document.Join(at, algorithm), "want the hexadecimal digits of a sha256 or of a gitCommit", "%q", document.Short(digest))
			}
		}
	}
}

// Verify is nil where s is the statement about what was made: each of its fields
// says what is so, and there is no other. Began is when the answer says that the
// build began, and it says that it ended by made.Finished: the statement's own time
// lies between them. What is not so is a fault.Denied that names the field.
func Verify(s Statement, made Made) error {
	began, finished, ok := s.Predicate.Run.Metadata.times()
	if !ok || finished.Before(began) || Time(began) != Time(made.Began) || finished.After(made.Finished) {
		return fault.New(fault.Denied, "predicate.runDetails.metadata says from %q to %q, and the answer from %s to %s",
			document.Short(s.Predicate.Run.Metadata.Started), document.Short(s.Predicate.Run.Metadata.Finished), Time(made.Began), Time(made.Finished))
	}
	made.Finished = finished
	want, err := Of(made)
	if err != nil {
		return err
	}
	return differ(said(s), said(want))
}

// differ is the first field that does not say what it should.
func differ(is, want []field) error {
	says := map[string]string{}
	for _, f := range is {
		says[f.path] = f.value
	}
	known := map[string]bool{}
	for _, f := range want {
		known[f.path] = true
		if got, there := says[f.path]; !there {
			return fault.New(fault.Denied, "%s is missing, want %q", f.path, document.Short(f.value))
		} else if got != f.value {
			return fault.New(fault.Denied, "%s says %q, want %q", f.path, document.Short(got), document.Short(f.value))
		}
	}
	for _, f := range is {
		if !known[f.path] {
			return fault.New(fault.Denied, "%s says %q, want nothing there", f.path, document.Short(f.value))
		}
	}
	return nil
}

// field is one value of a statement and where it stands.
type field struct{ path, value string }

// said is every field of a statement, each once.
func said(s Statement) []field {
	d, run := s.Predicate.Definition, s.Predicate.Run
	const (
		definition = "predicate.buildDefinition."
		external   = definition + "externalParameters."
		internal   = definition + "internalParameters."
		details    = "predicate.runDetails."
	)
	all := []field{
		{"_type", s.Type},
		{"predicateType", s.PredicateType},
		{definition + "buildType", d.Type},
		{external + "module", d.External.Module},
		{external + "repository", d.External.Repository},
		{external + "ref", d.External.Ref},
		{external + "commit", d.External.Commit},
		{external + "folder", d.External.Folder},
		{external + "platform", d.External.Platform},
		{external + "network", strconv.FormatBool(d.External.Network)},
		{internal + "mesh", d.Internal.Mesh},
		{internal + "tree", d.Internal.Tree},
		{internal + "attempt", strconv.FormatInt(d.Internal.Attempt, 10)},
		{internal + "limit", strconv.FormatInt(d.Internal.Limit, 10)},
		{internal + "target", d.Internal.Target},
		{details + "builder.id", run.Builder.ID},
		{details + "metadata.invocationId", run.Metadata.Request},
		{details + "metadata.startedOn", run.Metadata.Started},
		{details + "metadata.finishedOn", run.Metadata.Finished},
	}
	all = append(all, saidOf(s.Subject, "subject")...)
	return append(all, saidOf(d.Dependencies, definition+"resolvedDependencies")...)
}

func saidOf(resources []Resource, path string) (all []field) {
	for i, r := range resources {
		at := document.At(path, i) + "."
		all = append(all, field{at + "name", r.Name}, field{at + "uri", r.URI})
		for _, algorithm := range slices.Sorted(maps.Keys(r.Digest)) {
			all = append(all, field{at + "digest." + algorithm, r.Digest[algorithm]})
		}
	}
	return all
}
