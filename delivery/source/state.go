package source

import "noxmesh/delivery/standing"

// State is how the last look at a module's source ended.
type State string

// The states. Every one but Read says why, and since when.
const (
	NeverLooked State = ""             // nobody has looked yet
	Read        State = "read"         // the commit, its tree and its manifest are known
	Unreachable State = "unreachable"  // the forge did not answer, or not with git
	Denied      State = "denied"       // the forge wants a credential, or another one
	Gone        State = "gone"         // there is no such repository
	Empty       State = "empty"        // the repository has no commit
	NoRef       State = "no-ref"       // the branch or tag is not there
	NoCommit    State = "no-commit"    // the commit that is asked for is not there
	Refused     State = "refused"      // the forge gave what no git should accept, is damaged, or too big
	NoFolder    State = "no-folder"    // the commit has no such folder
	NoManifest  State = "no-manifest"  // the commit has no module.json where the module should be
	NotFile     State = "not-file"     // the commit's module.json is a link, a folder or a submodule
	BadManifest State = "bad-manifest" // the commit's module.json is refused
	WrongModule State = "wrong-module" // the commit's module.json is another module's
)

// States is every state there is.
func States() []State {
	return []State{
		NeverLooked, Read, Unreachable, Denied, Gone, Empty, NoRef, NoCommit, Refused,
		NoFolder, NoManifest, NotFile, BadManifest, WrongModule,
	}
}

// ParseState is the state with this name, and false for any other word.
func ParseState(name string) (State, bool) { return standing.Named(States(), name) }

// String is the state in words, as status shows it.
func (s State) String() string {
	switch s {
	case NeverLooked:
		return "never looked"
	case Read:
		return "read"
	case Unreachable:
		return "unreachable"
	case Denied:
		return "access denied"
	case Gone:
		return "no such repository"
	case Empty:
		return "the repository is empty"
	case NoRef:
		return "no such branch or tag"
	case NoCommit:
		return "no such commit"
	case Refused:
		return "the repository is refused"
	case NoFolder:
		return "no such folder"
	case NoManifest:
		return "no module.json"
	case NotFile:
		return "module.json is not a regular file"
	case BadManifest:
		return "module.json is refused"
	case WrongModule:
		return "module.json names another module"
	}
	return string(s)
}

// aboutCommit reports whether the state is a property of the commit that was
// seen: looking at that commit again can only give it again.
func (s State) aboutCommit() bool {
	switch s {
	case Read, NoFolder, NoManifest, NotFile, BadManifest, WrongModule:
		return true
	case NeverLooked, Unreachable, Denied, Gone, Empty, NoRef, NoCommit, Refused:
		return false
	}
	return false
}
