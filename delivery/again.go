package delivery

// nothingToAsk reports whether no build is to be asked for: nothing is known to
// build, it is not known against what, or it is built.
func nothingToAsk(f Facts) bool {
	return f.Source.Commit == "" || len(f.Inputs.Lacks) > 0 || CurrentBuild(f) != nil
}

// Untaken is why nobody will take the open request for what the source is now,
// or empty: no builder that has joined could. Time alone does not change that.
func Untaken(f Facts) string {
	if nothingToAsk(f) {
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
	if nothingToAsk(f) {
		return nil
	}
	closure := ClosureNow(f)
	asked := askedFor(f.Asked, closure)
	if len(asked) == 0 || asked[0].State.live() {
		return nil
	}
	return &Ask{f.Source.Commit, closure, asked[0].Attempt + 1}
}
