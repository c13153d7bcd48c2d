package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"noxmesh/declaration"
	"noxmesh/delivery/build"
	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/manifest"
	"noxmesh/report"
)

// schema is one document that has a published JSON Schema.
type schema struct {
	name string // what a person calls it
	file string // where it is published, in docs/
	text func() ([]byte, error)
}

func schemas() []schema {
	return []schema{
		{"module", "module-json.schema.json", manifest.SourceSchema},
		{"built", "built-manifest.schema.json", manifest.BuiltSchema},
		{"declaration", "declaration.schema.json", declaration.Schema},
		{"report", "report.schema.json", report.Schema},
		{"request", "build-request.schema.json", build.RequestSchema},
		{"answer", "build-answer.schema.json", build.AnswerSchema},
	}
}

func (s *shell) schema() *cobra.Command {
	names := make([]string, 0, len(schemas()))
	for _, one := range schemas() {
		names = append(names, one.name)
	}
	c := &cobra.Command{
		Use:   "schema [" + strings.Join(names, "|") + "]",
		Short: "The JSON Schema of module.json, or of another document",
		Long: `The JSON Schema (2020-12) of module.json, or of another document that travels, as
this version reads it. An editor that knows it completes module.json and says what
each key means: name it there in "$schema", which has no other meaning.`,
		Example: `  mesh schema > module-json.schema.json
  mesh schema declaration`,
		Args:              arguments(0, 1),
		ValidArgsFunction: each(oneOf(names...)),
		RunE: func(_ *cobra.Command, args []string) error {
			wanted := "module"
			if len(args) > 0 {
				wanted = args[0]
			}
			for _, one := range schemas() {
				if one.name != wanted {
					continue
				}
				text, err := one.text()
				if err != nil {
					return err
				}
				return s.out.Printf("%s", text)
			}
			return fault.New(fault.Invalid, "there is no schema of %q", document.Short(wanted)).
				With("%s", document.Nearest(wanted, names, strings.Join(names, ", ")))
		},
	}
	c.Annotations = map[string]string{answers: "the schema itself, as without it"}
	return c
}
