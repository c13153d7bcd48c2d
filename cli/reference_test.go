package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"noxmesh/document"
	"noxmesh/internal/term"
	"noxmesh/manifest"
)

const referenceHead = `# The commands of mesh

Written from the commands themselves by ` + "`make docs`" + `; a test fails when it is out of date.

Results go to standard output, and everything else (what was done, what is wrong, hints) to standard error. Colour and
progress are only on a terminal, and never with ` + "`NO_COLOR`" + ` set. A table on a terminal fits it; in a pipe nothing is cut.

With ` + "`-o json`" + ` a command prints one JSON value, and an error one JSON object on standard error:
` + "`{\"error\": {\"kind\": …, \"text\": …, \"hint\": …}}`" + `, of kind invalid, not-found, conflict, denied, unavailable, broken or
unknown. What each command prints is named below; the schemas of these names are in [openapi.json](openapi.json). A list
is never null, and a time is in RFC 3339. Fields are added; none changes its meaning or goes within one version of the API.

## Whom it asks

The first of these that is there: the socket of ` + "`--controller`" + `; that of ` + "`$MESH_CONTROLLER`" + `; the mesh dev of the folder that it
is typed in; a login that ` + "`mesh login`" + ` has kept in ` + "`~/.config/mesh/login`" + `; the controller of this machine.

## Exit status

| status | means |
|---|---|
`

const pageWidth = 100

// reference is docs/cli.md.
func reference(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(referenceHead)
	for line := range strings.Lines(term.ExitHelp()) {
		if status, means, ok := strings.Cut(strings.TrimSpace(line), "  "); ok {
			fmt.Fprintf(&b, "| %s | %s |\n", status, means)
		}
	}
	b.WriteString("\n## Flags of every command\n\n")
	writeFlags(&b, root.PersistentFlags().FlagUsagesWrapped(pageWidth))
	for _, g := range append(root.Groups(), &cobra.Group{}) {
		for _, c := range root.Commands() {
			if c.GroupID == g.ID && c.Name() != "help" {
				writeCommands(&b, c)
			}
		}
	}
	return b.String()
}

func writeCommands(b *strings.Builder, c *cobra.Command) {
	for _, leaf := range leavesInOrder(c) {
		leaf.InitDefaultHelpFlag()
		about := leaf.Long
		if about == "" {
			about = leaf.Short + "."
		}
		fmt.Fprintf(b, "\n## %s\n\n%s\n\n    %s\n", leaf.CommandPath(), about, leaf.UseLine())
		if leaf.Example != "" {
			fmt.Fprintf(b, "\nExamples:\n\n%s\n", regexp.MustCompile(`(?m)^  `).ReplaceAllString(leaf.Example, "    "))
		}
		if usages := leaf.LocalFlags().FlagUsagesWrapped(pageWidth); strings.Count(usages, "--") > 1 {
			b.WriteString("\n")
			writeFlags(b, usages)
		}
		writeAnswer(b, leaf.Annotations[answers])
	}
}

// leavesInOrder is the command itself before those that it holds.
func leavesInOrder(c *cobra.Command) []*cobra.Command {
	all := leaves(c)
	slices.SortStableFunc(all, func(a, b *cobra.Command) int {
		return strings.Count(a.CommandPath(), " ") - strings.Count(b.CommandPath(), " ")
	})
	return all
}

func writeFlags(b *strings.Builder, usages string) {
	usages = regexp.MustCompile(`(?m)^ *-h, --help .*\n`).ReplaceAllString(usages, "")
	if usages != "" {
		fmt.Fprintf(b, "```\n%s```\n", usages)
	}
}

func writeAnswer(b *strings.Builder, prints string) {
	own := ownAnswers()[prints]
	switch {
	case own != nil:
		var fields []string
		for f := range own.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			kind := f.Type.String()
			if f.Type.Kind() == reflect.Slice {
				kind = "list of " + f.Type.Elem().String()
			}
			fields = append(fields, "`"+name+"` ("+kind+")")
		}
		fmt.Fprintf(b, "\nWith `-o json`: %s.\n", strings.Join(fields, ", "))
	case prints == "api_Nothing":
		b.WriteString("\nWith `-o json`: an object without fields.\n")
	case strings.Contains(prints, " "):
		fmt.Fprintf(b, "\nWith `-o json`: %s.\n", prints)
	default:
		fmt.Fprintf(b, "\nWith `-o json`: `%s`.\n", prints)
	}
}

// The reference is what the commands say of themselves.
func TestReference(t *testing.T) {
	t.Parallel()
	s, _ := screen(0)
	for _, one := range schemas() {
		text, err := one.text()
		if err != nil {
			t.Fatal(err)
		}
		upToDate(t, "../docs/"+one.file, string(text))
	}
	upToDate(t, "../docs/cli.md", regexp.MustCompile(`\n{3,}`).ReplaceAllString(reference(s.root()), "\n\n"))
}

// upToDate fails where a generated page is not what it would be now.
func upToDate(t *testing.T, path, now string) {
	t.Helper()
	compare(t, path, now, "make docs")
}

// The reference of module.json shows only manifests that are read, names every
// key that there is, and no other.
func TestModulePage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/module-json.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	blocks := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(page, -1)
	if len(blocks) < 5 {
		t.Errorf("only %d examples", len(blocks))
	}
	for _, b := range blocks {
		if _, err := manifest.DecodeSource(manifest.Name, []byte(b[1])); err != nil {
			t.Errorf("an example is refused: %v\n%s", err, b[1])
		}
	}
	refused := regexp.MustCompile("(?s)```json refused\n(.*?)```\n+```\n(.*?)\n```").FindAllStringSubmatch(page, -1)
	if len(refused) == 0 {
		t.Error("no example of a refusal")
	}
	for _, b := range refused {
		_, err := manifest.DecodeSource(manifest.Name, []byte(b[1]))
		if err == nil || err.Error() != b[2] {
			t.Errorf("the page says:\n%s\nand it is:\n%v", b[2], err)
		}
	}
	rows := page
	for _, k := range manifest.Keys() {
		row := fmt.Sprintf("| `%s` | %s | %s |", k.Path, k.Is, k.Means)
		rows = regexp.MustCompile("(?m)^\\| `"+regexp.QuoteMeta(k.Path)+"` \\|.*$").ReplaceAllLiteralString(rows, row)
	}
	upToDate(t, "../docs/module-json.md", rows)
	keys := keysOf(reflect.TypeFor[manifest.Source](), "")
	for _, k := range manifest.Keys() {
		if !slices.Contains(keys, k.Path) {
			t.Errorf("manifest.Keys has a key %s, which there is not", k.Path)
		}
	}
	for _, key := range keys {
		if !strings.Contains(page, "| `"+key+"` |") {
			t.Errorf("the key %s is not in a table of the page", key)
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z$_.\\[\\]A-Z]+)` \\|").FindAllStringSubmatch(page, -1) {
		if !slices.Contains(keys, row[1]) {
			t.Errorf("the page has a key %s, which there is not", row[1])
		}
	}
}

// keysOf is the keys of a document: "resources[].id", "settings.NAME.type".
func keysOf(t reflect.Type, at string) []string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		return keysOf(t.Elem(), at+"[].")
	case t.Kind() == reflect.Map:
		return keysOf(t.Elem(), at+".NAME.")
	case t.Implements(reflect.TypeFor[document.Brief]()): // an object, where it is no string
	case t.Kind() != reflect.Struct || t.Implements(reflect.TypeFor[json.Marshaler]()):
		return nil
	}
	if at != "" && !strings.HasSuffix(at, ".") {
		at += "."
	}
	var out []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			out = append(out, keysOf(f.Type, at)...)
			continue
		}
		out = append(out, at+name)
		out = append(out, keysOf(f.Type, at+name)...)
	}
	return out
}
