package delivery

// Untaken is why nobody will take the open request for what the source is now,
// or empty: no builder that has joined could. Time alone does not change that.
func Untaken(f Facts) string {
	if f.Source.Commit == "" || CurrentBuild(f) != nil {
		return ""
	}
	asked := askedFor(f.Asked, ClosureNow(f))
	if len(asked) == 0 || asked[0].State != Open {
		return ""
	}
	if words, there := taker(f); !there {
		return words
	}
	return ""
}

// AskAgain is the build that a person may ask for though the comparison would
// still wait: the last attempt failed, or was withdrawn. Nil where nothing is
// built, being built, or never asked for, which is the comparison's own to do.
func AskAgain(f Facts) *Ask {
	if f.Source.Commit == "" || CurrentBuild(f) != nil {
		return nil
	}
	closure := ClosureNow(f)
	asked := askedFor(f.Asked, closure)
	if len(asked) == 0 || asked[0].State.live() {
		return nil
	}
	return &Ask{f.Source.Commit, closure, asked[0].Attempt + 1}
}
