package source

import (
	"time"

	"noxmesh/delivery/imports"
	"noxmesh/delivery/standing"
	"noxmesh/manifest"
)

// Source is what is known of the place a module comes from. Ref, Commit, Tree
// and Manifest are of the last look that read them, however the later ones
// ended.
type Source struct {
	Module   string
	Ref      string          // the branch or tag that was read, in full; the default branch is named too
	Commit   string          // the last commit that was read
	Tree     string          // of the module's folder at that commit
	Manifest manifest.Source // at that commit
	Lines    manifest.Lines  // of Manifest
	Code     imports.Reading // what its code says at that commit
	Head     string          // the commit that the ref was last seen at, usable or not
	LookedAt time.Time       // the last look
	MovedAt  time.Time       // when Commit was first seen
	State    State
	Why      string    // every state but Read
	Since    time.Time // since when it has been in State
	Notices  []Notice  // what is odd about where it stands, beside State; by kind, each once
}

// Because is why it is in its state; empty where it was read.
func (s Source) Because() string {
	if s.State == NeverLooked {
		return "the controller has not looked at it yet"
	}
	return s.Why
}

// Seen is what one look found. Where State is Read, the rest of it says what
// was read; otherwise Why says what was in the way.
type Seen struct {
	State    State
	Why      string
	Ref      string
	Commit   string // Read and the states about a commit: the one that was seen
	Tree     string
	Manifest manifest.Source
	Lines    manifest.Lines
	Code     imports.Reading
	Same     bool // the ref is still at the known commit, and nothing else was read
}

// Known is the commit that need not be read again if the ref is still at it,
// or "" if whatever is there must be read.
func (s Source) Known() string {
	switch {
	case s.State.aboutCommit() && s.Head != "":
		return s.Head
	case s.State == Read, s.Head != "" && s.Head == s.Commit:
		return s.Commit
	}
	return ""
}

// Look is the source after one more look at it. A failure keeps what was read
// before: no failure ever takes a module away.
func Look(previous Source, seen Seen, now time.Time) Source {
	next := previous
	next.LookedAt = now
	next.Notices = noticed(previous, seen, now)
	if seen.Same {
		return next.stayed(seen, now)
	}
	if seen.Commit != "" {
		next.Head = seen.Commit
	}
	if seen.State != Read {
		return next.enter(seen.State, seen.Why, now)
	}
	if seen.Commit != previous.Commit {
		next.MovedAt = now
	}
	next.Ref, next.Commit, next.Tree, next.Manifest, next.Lines, next.Code = seen.Ref, seen.Commit, seen.Tree, seen.Manifest, seen.Lines, seen.Code
	return next.enter(Read, "", now)
}

// stayed is the source whose ref is still at the known commit. What was found
// to be wrong with that commit still is; what was wrong with the way is over.
func (s Source) stayed(seen Seen, now time.Time) Source {
	if seen.Ref != "" {
		s.Ref = seen.Ref
	}
	if s.State.aboutCommit() || s.Commit == "" {
		return s
	}
	return s.enter(Read, "", now)
}

// enter is the source in this state; since stands still while the state does.
func (s Source) enter(state State, why string, now time.Time) Source {
	s.State, s.Why, s.Since = state, why, standing.Since(s.State, state, s.Since, now)
	return s
}
