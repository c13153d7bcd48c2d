package source

import (
	"slices"
	"strings"
	"time"
)

// Kind is what a notice is about.
type Kind string

// The kinds. None of them keeps a commit from being delivered: each is what a
// person would want to know who looks at where the source stands.
const (
	Moved       Kind = "moved"        // whether the commit comes after the one before has not been found out yet
	Rewritten   Kind = "rewritten"    // it does not: somebody has pushed by force
	Unrelated   Kind = "unrelated"    // it does not, and the two have nothing in common: made again elsewhere
	FarApart    Kind = "far-apart"    // the one before is not among the last commits, as far back as is looked
	TagMoved    Kind = "tag-moved"    // a tag names another commit than before
	Renamed     Kind = "renamed"      // the default branch is another one
	ForgeBehind Kind = "forge-behind" // the forge's own webhook says a commit that the forge does not give yet
)

// Notice is one thing that is odd about where a source stands.
type Notice struct {
	Kind  Kind
	From  string // the commit or the ref before
	To    string
	Since time.Time
}

// String is the notice in words; empty for one that says nothing yet.
func (n Notice) String() string {
	from, to := shortCommit(n.From), shortCommit(n.To)
	switch n.Kind {
	case Moved:
		return ""
	case Rewritten:
		return "history was rewritten: from " + from + " to " + to
	case Unrelated:
		return "history begins anew: " + to + " has nothing in common with " + from
	case FarApart:
		return "history was rewritten, or much was pushed at once: " + from + " is not among the last commits of " + to
	case TagMoved:
		return "the tag was moved: from " + from + " to " + to
	case Renamed:
		return "the default branch is " + shortRef(n.To) + ", it was " + shortRef(n.From)
	case ForgeBehind:
		return "the forge is behind its webhook: that says " + to + ", the forge says " + from
	}
	return string(n.Kind)
}

// noticed is the notices after one more look. Those about a way from one commit
// to another are over when the next commit comes.
func noticed(previous Source, seen Seen, now time.Time) []Notice {
	ns := slices.Clone(previous.Notices)
	if seen.Commit != "" && seen.Commit != previous.Head && !seen.Same {
		ns = without(ns, ForgeBehind)
	}
	if seen.State != Read && !seen.Same {
		return ns
	}
	if commit := seen.Commit; !seen.Same && previous.Commit != "" && commit != previous.Commit {
		ns = without(ns, Moved, Rewritten, Unrelated, FarApart, TagMoved)
		kind := Moved
		if strings.HasPrefix(seen.Ref, "refs/tags/") {
			kind = TagMoved
		}
		ns = with(ns, Notice{kind, previous.Commit, commit, now})
		if seen.Ref == previous.Ref {
			ns = without(ns, Renamed)
		}
	}
	if previous.Ref != "" && seen.Ref != "" && seen.Ref != previous.Ref {
		back := slices.ContainsFunc(ns, func(n Notice) bool { return n.Kind == Renamed && n.From == seen.Ref })
		ns = without(ns, Renamed)
		if !back {
			ns = with(ns, Notice{Renamed, previous.Ref, seen.Ref, now})
		}
	}
	return ns
}

// Unjudged is the way from one commit to the next of which nobody has found out
// yet whether it goes forward.
func (s Source) Unjudged() (from, to string, is bool) {
	for _, n := range s.Notices {
		if n.Kind == Moved && n.To == s.Commit {
			return n.From, n.To, true
		}
	}
	return "", "", false
}

// Judged is the source once that has been found out: an empty kind is a commit
// that comes after the one before, of which there is nothing to say.
func Judged(s Source, kind Kind) Source {
	from, to, is := s.Unjudged()
	if !is {
		return s
	}
	since := s.MovedAt
	s.Notices = without(s.Notices, Moved)
	if kind != "" {
		s.Notices = with(s.Notices, Notice{kind, from, to, since})
	}
	return s
}

// Behind is the notice that the forge is behind its webhook, if it is.
func (s Source) Behind() (Notice, bool) {
	for _, n := range s.Notices {
		if n.Kind == ForgeBehind {
			return n, true
		}
	}
	return Notice{}, false
}

// Heed is the source after its forge's webhook has said, signed, that its ref
// has been pushed. What the forge gives counts; but where the push begins at
// what the forge still gives, the forge is behind its own word.
func Heed(s Source, p Push, now time.Time) Source {
	if p.After == "" || p.After == s.Head || (s.Ref != "" && p.Ref != s.Ref) {
		return s
	}
	n, behind := s.Behind()
	if p.Before != s.Head && (!behind || p.Before != n.To) {
		return s
	}
	if behind && n.To == p.After {
		return s
	}
	since := now
	if behind {
		since = n.Since
	}
	s.Notices = with(without(s.Notices, ForgeBehind), Notice{ForgeBehind, s.Head, p.After, since})
	return s
}

func without(ns []Notice, kinds ...Kind) []Notice {
	ns = slices.DeleteFunc(slices.Clone(ns), func(n Notice) bool { return slices.Contains(kinds, n.Kind) })
	if len(ns) == 0 {
		return nil
	}
	return ns
}

func with(ns []Notice, n Notice) []Notice {
	ns = append(slices.Clone(ns), n)
	slices.SortFunc(ns, func(a, b Notice) int { return strings.Compare(string(a.Kind), string(b.Kind)) })
	return ns
}

func shortCommit(c string) string {
	if len(c) > 7 {
		return c[:7]
	}
	if c == "" {
		return "nothing"
	}
	return c
}

func shortRef(r string) string { return strings.TrimPrefix(r, "refs/heads/") }
