package cli

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"noxmesh/api"
	"noxmesh/delivery/provenance"
	"noxmesh/internal/fault"
	"noxmesh/internal/term"
)

func (s *shell) provenance() *cobra.Command {
	key := false
	c := &cobra.Command{
		Use:   "provenance MODULE|BUILD",
		Short: "What a build was made of, by whom and when, as its builder has signed it",
		Long: `What a build was made of: of a module its newest one, or the one that is named as
mesh logs takes it. It is an in-toto statement with SLSA provenance in a DSSE
envelope, signed by the builder, verified by the controller before the build was
recorded, and attached to the build's manifest in the registry. With -o json the
envelope is printed as it was signed, and with --key the builder's public key, for
other tools to verify it with.`,
		Example: `  mesh provenance site
  mesh provenance 5b1e09c2 -o json > envelope.json
  mesh provenance 5b1e09c2 --key > builder.pem`,
		Args:              arguments(1, 1),
		ValidArgsFunction: each(both(s.moduleNames(), s.buildIDs())),
		RunE: func(c *cobra.Command, args []string) error {
			out, err := ask(c.Context(), s, api.Provenance(), api.ProvenanceIn{Build: args[0]})
			if err != nil {
				return err
			}
			if key {
				return s.out.Printf("%s", term.CleanText(out.Key))
			}
			if s.out.JSON {
				return s.out.Result(out.Envelope)
			}
			statement, err := provenance.Decode(out.Envelope.Payload)
			if err != nil {
				return fault.Add(err, "read the provenance of %q", out.Module)
			}
			s.showProvenance(out, statement)
			return nil
		},
	}
	c.Flags().BoolVar(&key, "key", false, "print the public key of the builder that signed it, in PEM")
	return printing[api.Envelope](c)
}

func (s *shell) showProvenance(out api.ProvenanceOut, p provenance.Statement) {
	d, run := p.Predicate.Definition, p.Predicate.Run
	signed := ""
	for _, one := range out.Envelope.Signatures {
		signed = joinedWords(signed, one.KeyID)
	}
	commands := ""
	if d.External.Network {
		commands = "could reach other machines"
	}
	for _, l := range []struct{ name, says string }{
		{"module", d.External.Module},
		{"build", out.Build},
		{"repository", d.External.Repository},
		{"ref", d.External.Ref},
		{"commit", d.External.Commit},
		{"folder", d.External.Folder},
		{"platform", d.External.Platform},
		{"commands", commands},
		{"request", run.Metadata.Request},
		{"began", run.Metadata.Started},
		{"finished", run.Metadata.Finished},
		{"builder", out.Builder + ", " + run.Builder.ID},
		{"signed by", "key " + signed + ", verified"},
		{"attached to", out.Repository + "@" + out.Subject},
		{"lies in", out.Repository + "@" + out.Manifest},
	} {
		if l.says != "" {
			s.line("%-12s %s", l.name, term.Clean(l.says))
		}
	}
	s.resources("MADE OF", d.Dependencies)
	s.resources("MADE", p.Subject)
}

func (s *shell) resources(head string, all []provenance.Resource) {
	s.line("")
	t := newTable(head, "DIGEST", "FROM")
	for _, r := range all {
		for _, algorithm := range slices.Sorted(maps.Keys(r.Digest)) {
			t.row(r.Name, algorithm+":"+r.Digest[algorithm], r.URI)
		}
	}
	s.table(t)
}
