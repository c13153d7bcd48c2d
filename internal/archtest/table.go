package archtest

import (
	"fmt"
	"strings"
)

// Tier is how far from the rim a package stands. Its heading in ARCHITECTURE.md
// names it.
type Tier string

// The tiers, from the middle outwards.
const (
	Nouns    Tier = "Nouns"
	Tools    Tier = "Tools"
	Rules    Tier = "Rules"
	Stores   Tier = "Stores"
	Programs Tier = "Programs"
	Rim      Tier = "Rim"
)

// Row is one line of the table.
type Row struct {
	Path    string
	Is      string   // the package comment's first sentence, without "Package x is"
	Imports []string // our packages that it may import, by path
	Outside []string // third-party modules and guarded packages of the standard library
	Tier    Tier
	Line    int
}

// Table reads the rows of ARCHITECTURE.md: every table below a heading that
// names a tier.
func Table(text string) ([]Row, error) {
	var rows []Row
	var tier Tier
	seen := map[string]int{}
	for i, line := range strings.Split(text, "\n") {
		if heading, ok := strings.CutPrefix(line, "#"); ok {
			tier = tierOf(strings.Trim(heading, "# "))
			continue
		}
		if tier == "" || !strings.HasPrefix(line, "| `") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 4 {
			return nil, fmt.Errorf("ARCHITECTURE.md:%d: %d cells, want 4: path, what it is, may import, stands on", i+1, len(cells))
		}
		row := Row{
			Path: strings.Trim(cells[0], " `"), Is: strings.TrimSpace(cells[1]),
			Imports: names(cells[2]), Outside: names(cells[3]), Tier: tier, Line: i + 1,
		}
		if first, twice := seen[row.Path]; twice {
			return nil, fmt.Errorf("ARCHITECTURE.md:%d: %q stands on line %d too", i+1, row.Path, first)
		}
		seen[row.Path] = i + 1
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("ARCHITECTURE.md: no table found below the headings Nouns, Tools, Rules, Stores, Programs, Rim")
	}
	return rows, nil
}

func tierOf(heading string) Tier {
	switch t := Tier(heading); t {
	case Nouns, Tools, Rules, Stores, Programs, Rim:
		return t
	}
	return ""
}

// names is a cell's words; a dash means none.
func names(cell string) []string {
	var words []string
	for _, word := range strings.Fields(strings.ReplaceAll(cell, "`", "")) {
		if word != "–" && word != "-" {
			words = append(words, word)
		}
	}
	return words
}
