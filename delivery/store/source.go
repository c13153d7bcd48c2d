package deliverystore

import (
	"noxmesh/delivery/source"
	"noxmesh/internal/db"
	"noxmesh/manifest"
)

const sourceColumns = `module, ref, commit_hash, tree, manifest, head, looked_at, moved_at, state, why, since, notices, code, lines`

func scanSource(r db.Row) (s source.Source, err error) {
	var looked, moved, since int64
	var text, state, notices, lines string
	if err = r.Scan(&s.Module, &s.Ref, &s.Commit, &s.Tree, &text, &s.Head, &looked, &moved, &state, &s.Why, &since, &notices, &s.Code.Key, &lines); err != nil {
		return s, err
	}
	s.State, _ = source.ParseState(state)
	s.LookedAt, s.MovedAt, s.Since = db.Time(looked), db.Time(moved), db.Time(since)
	if s.Manifest, err = db.FromJSON[manifest.Source]("the source manifest of "+s.Module, text); err != nil {
		return s, err
	}
	if s.Lines, err = db.FromJSON[manifest.Lines]("the lines of the source manifest of "+s.Module, lines); err != nil {
		return s, err
	}
	kept, err := db.FromJSON[[]notice]("the notices of "+s.Module, notices)
	for _, n := range kept {
		s.Notices = append(s.Notices, source.Notice{Kind: source.Kind(n.Kind), From: n.From, To: n.To, Since: db.Time(n.Since)})
	}
	return s, err
}

// notice is a source's notice as it is kept.
type notice struct {
	Kind  string `json:"kind"`
	From  string `json:"from"`
	To    string `json:"to"`
	Since int64  `json:"since"`
}

func noticesJSON(ns []source.Notice) (string, error) {
	kept := make([]notice, 0, len(ns))
	for _, n := range ns {
		kept = append(kept, notice{string(n.Kind), n.From, n.To, db.Millis(n.Since)})
	}
	return db.JSON(kept)
}

// SaveSource records what is known of a module's source. A module that was
// removed while it was looked at is NotFound.
func SaveSource(tx *db.Tx, s source.Source) error {
	if _, err := Module(tx, s.Module); err != nil {
		return err
	}
	tx.Changed("source", s.Module)
	text, err := db.JSON(s.Manifest)
	if err != nil {
		return err
	}
	notices, err := noticesJSON(s.Notices)
	if err != nil {
		return err
	}
	lines, err := db.JSON(s.Lines)
	if err != nil {
		return err
	}
	if err := saveSays(tx, s); err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO source (`+sourceColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
		ON CONFLICT (module) DO UPDATE SET ref = excluded.ref, commit_hash = excluded.commit_hash, tree = excluded.tree,
		manifest = excluded.manifest, head = excluded.head, looked_at = excluded.looked_at, moved_at = excluded.moved_at,
		state = excluded.state, why = excluded.why, since = excluded.since, notices = excluded.notices, code = excluded.code, lines = excluded.lines`,
		s.Module, s.Ref, s.Commit, s.Tree, text, s.Head, db.Millis(s.LookedAt), db.Millis(s.MovedAt), string(s.State), s.Why, db.Millis(s.Since), notices, s.Code.Key, lines)
	return err
}

// Source is what is known of a module's source. Of one that nobody has looked
// at, it is the module's name alone.
func Source(tx *db.Tx, module string) (source.Source, error) {
	s, found, err := db.One(tx, scanSource, `SELECT `+sourceColumns+` FROM source WHERE module = $1`, module)
	if err != nil || !found {
		return source.Source{Module: module}, err
	}
	if s.Code.Key == "" {
		return s, nil
	}
	s.Code.Says, err = says(tx, module)
	return s, err
}

// Sources is what is known of every source that was looked at, by module. Of its
// code it is the key alone: Codes has the rest.
func Sources(tx *db.Tx) (map[string]source.Source, error) {
	all, err := db.All(tx, scanSource, `SELECT `+sourceColumns+` FROM source`)
	byModule := make(map[string]source.Source, len(all))
	for _, s := range all {
		byModule[s.Module] = s
	}
	return byModule, err
}
