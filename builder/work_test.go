package builder

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"noxmesh/delivery/build"
	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/link"
)

// plain is a module without commands: it needs no sandbox.
func plain() map[string]string {
	return map[string]string{
		"module.json": `{"module": "site", "resources": [{"id": "motd", "type": "file", "path": "/etc/motd.site", "from": "motd"}]}`,
		"motd":        "welcome\n",
	}
}

func TestTheAnswerIsSentUntilItsReceipt(t *testing.T) {
	t.Parallel()
	repo, rig := newRepository(t), newRig(t)
	q := repo.request(repo.commit(plain()), "")
	lost := 0
	rig.controller.lose = func(verb link.Verb, _ string) bool {
		if verb != link.VerbAnswer || lost == 3 {
			return false
		}
		lost++
		return true
	}
	stop := rig.start()
	rig.ask(q)
	<-rig.controller.answered
	stop()
	if lost != 3 {
		t.Errorf("%d receipts were lost", lost)
	}
	ids, err := state{rig.config.State}.peek()
	if err != nil || len(ids) > 0 {
		t.Errorf("after the receipt %v are kept, %v", ids, err)
	}
}

func TestAKeptAnswerGoesOutAfterARestart(t *testing.T) {
	t.Parallel()
	repo, rig := newRepository(t), newRig(t)
	q := repo.request(repo.commit(plain()), "")
	tried := make(chan struct{}, 64)
	rig.controller.refuse = func(verb link.Verb, _ string) error {
		if verb == link.VerbWork {
			return nil
		}
		if verb == link.VerbAnswer {
			tried <- struct{}{}
		}
		return fault.New(fault.Unavailable, "not now")
	}
	stop := rig.start()
	rig.ask(q)
	<-tried
	stop()
	written := rig.registry.written()
	works := len(rig.controller.works)
	rig.controller.refuse = nil
	// The controller gives the request again: its lease ran out. It is not built twice.
	rig.ask(q)
	stop = rig.start()
	a := rig.controller.wait(q)
	stop()
	if a.Outcome != build.OutcomeBuilt {
		t.Errorf("%s: %s", a.Outcome, a.Why)
	}
	if log := rig.controller.logOf(q); document.Sum([]byte(log)) != a.Log {
		t.Errorf("the log did not come whole:\n%s", log)
	}
	if len(rig.controller.works) < works {
		t.Error("questions were forgotten")
	}
	if n := rig.registry.written(); n != written {
		t.Errorf("it was published again: %d writes, then %d", written, n)
	}
}

func TestTheControllerEndsABuild(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	repo, rig := newRepository(t), newRig(t)
	q := repo.request(repo.commit(site(map[string]string{"build.sh": "echo begun\nsleep 600\n"})), "")
	rig.controller.stop[q.ID] = "withdrawn"
	a := rig.build(q)
	if a.Outcome != build.OutcomeEnvironment || a.Why != "stopped: withdrawn" {
		t.Errorf("%s: %s", a.Outcome, a.Why)
	}
}

func TestTheLogComesWhileTheBuildGoesOn(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	repo, rig := newRepository(t), newRig(t)
	q := repo.request(repo.commit(site(map[string]string{"build.sh": "echo begun\nsleep 600\n"})), "")
	// The build never ends by itself: only one who has read its log stops it.
	rig.controller.lose = func(verb link.Verb, id string) bool {
		if verb == link.VerbWorking && strings.Contains(rig.controller.log[id], "\nbegun\n") {
			rig.controller.stop[id] = "read"
		}
		return false
	}
	if a := rig.build(q); a.Why != "stopped: read" {
		t.Errorf("%s: %s", a.Outcome, a.Why)
	}
}

func TestABuilderThatStopsGivesNoAnswer(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	repo, rig := newRepository(t), newRig(t)
	q := repo.request(repo.commit(site(map[string]string{"build.sh": "echo begun\nsleep 600\n"})), "")
	begun := make(chan struct{})
	rig.controller.lose = func(verb link.Verb, _ string) bool {
		if verb == link.VerbWorking {
			select {
			case <-begun:
			default:
				close(begun)
			}
		}
		return false
	}
	rig.ask(q)
	stop := rig.start()
	<-begun
	stop()
	if len(rig.controller.answers) > 0 {
		t.Error("there is an answer")
	}
	left, err := os.ReadDir(rig.config.State)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		if e.Name() == "workshop" {
			t.Error("the workshop stays")
		}
	}
}

func TestTwoBuildersNeverShareAState(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	rig.start()
	_, _, err := open(t.Context(), rig.config)
	if fault.KindOf(err) != fault.Conflict || fault.HintOf(err) == "" {
		t.Errorf("the second: %v", err)
	}
}

func TestWhatAKillLeftIsSweptAtTheStart(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	rig.start()()
	deep := filepath.Join(rig.config.State, "workshop", "old", "tree", "closed")
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	for path, mode := range map[string]os.FileMode{deep: 0, filepath.Dir(deep): 0} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	half := filepath.Join(rig.config.State, "answers", strings.Repeat("b", 32)+".json.new")
	orphan := filepath.Join(rig.config.State, "answers", strings.Repeat("a", 32)+".log")
	top := filepath.Join(rig.config.State, countFile+".new")
	for _, path := range []string{half, orphan, top} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b, closeAll, err := open(t.Context(), rig.config)
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll()
	if _, err := b.state.waiting(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Dir(filepath.Dir(deep)), half, orphan, top} {
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%q is still there: %v", path, err)
		}
	}
}

func TestKeysAreReadableByNobodyElse(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	rig.start()()
	for _, name := range []string{ownFile, joinedFile, "lock", countFile} {
		info, err := os.Stat(filepath.Join(rig.config.State, name))
		if errors.Is(err, os.ErrNotExist) && name == countFile {
			continue // it asked nothing yet
		}
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %s", name, info.Mode())
		}
	}
}

func TestARegistryThatIsDownIsNoVerdict(t *testing.T) {
	t.Parallel()
	repo, rig := newRepository(t), newRig(t)
	rig.registry.server.Close()
	a := rig.build(repo.request(repo.commit(plain()), ""))
	if a.Outcome != build.OutcomeEnvironment || !strings.Contains(a.Why, "registry") || a.Tests != "" || a.Manifest != nil {
		t.Errorf("%s %s: %s", a.Outcome, a.Step, a.Why)
	}
}

func TestWithoutASandboxOnlyModulesWithoutCommandsAreBuilt(t *testing.T) {
	t.Parallel()
	repo, rig := newRepository(t), newRig(t)
	without := repo.request(repo.commit(plain()), "")
	with := repo.request(repo.commit(site(nil)), "")
	o := order{request: with, bench: &bench{dir: t.TempDir()}, noSandbox: "there is no bwrap on this machine (" + remedy + ")", log: &logbook{}}
	end := judge(t.Context(), build.StepBuild, o.commands(t.Context(), [][]string{{"true"}}))
	if end.outcome != build.OutcomeEnvironment || !strings.Contains(end.why, "apt-get install bubblewrap") {
		t.Errorf("with commands: %v", end)
	}
	b, closeAll, err := open(t.Context(), rig.config)
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll()
	b.sandbox, b.why = nil, "there is no bwrap on this machine"
	b.caller.link = rig.controller
	for _, q := range []build.Request{without, with} {
		rig.ask(q)
		if _, err := b.turn(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if a := rig.controller.answers[without.ID]; a.Outcome != build.OutcomeBuilt || a.Tests != build.TestsNone {
		t.Errorf("without commands: %s %s", a.Outcome, a.Why)
	}
	if a := rig.controller.answers[with.ID]; a.Outcome != build.OutcomeEnvironment || !strings.Contains(a.Why, "no sandbox") {
		t.Errorf("with commands: %s %s", a.Outcome, a.Why)
	}
	if w := rig.controller.works; w[0].Sandbox == "" {
		t.Error("the mesh was not told that there is no sandbox")
	}
}

// What a stolen broker may send: nothing of it makes a builder build.
func TestOnlyWhatTheMeshSignedIsBelieved(t *testing.T) {
	t.Parallel()
	repo, rig := newRepository(t), newRig(t)
	good := repo.request(repo.commit(plain()), "")
	stranger, err := link.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	b, closeAll, err := open(t.Context(), rig.config)
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll()
	b.caller.link = rig.controller
	sealBy := func(by func(link.PayloadType) link.Key, change func(any) any) func(link.PayloadType, any) link.Envelope {
		return func(p link.PayloadType, v any) link.Envelope {
			e, err := link.Seal(by(p), p, change(v))
			if err != nil {
				t.Error(err)
			}
			return e
		}
	}
	mine := func(link.PayloadType) link.Key { return rig.controller.declare }
	same := func(v any) any { return v }
	onAnswer := func(change func(*link.WorkAnswer)) func(any) any {
		return func(v any) any {
			if a, ok := v.(link.WorkAnswer); ok {
				change(&a)
				return a
			}
			return v
		}
	}
	onRequest := func(change func(*build.Request)) func(any) any {
		return func(v any) any {
			if q, ok := v.(build.Request); ok {
				change(&q)
				return q
			}
			return v
		}
	}
	for name, forge := range map[string]func(link.PayloadType, any) link.Envelope{
		"all by a stranger": sealBy(func(link.PayloadType) link.Key { return stranger }, same),
		"the request by a stranger": sealBy(func(p link.PayloadType) link.Key {
			if p == link.TypeBuildRequest {
				return stranger
			}
			return rig.controller.declare
		}, same),
		"an answer to another question": sealBy(mine, onAnswer(func(a *link.WorkAnswer) { a.Counter-- })),
		"an answer to another builder":  sealBy(mine, onAnswer(func(a *link.WorkAnswer) { a.Builder = "builder2abcdefgh" })),
		"an answer of another mesh":     sealBy(mine, onAnswer(func(a *link.WorkAnswer) { a.Mesh = "mesh0002abcdefgh" })),
		"another format":                sealBy(mine, onAnswer(func(a *link.WorkAnswer) { a.Format = 9 })),
		"no lease":                      sealBy(mine, onAnswer(func(a *link.WorkAnswer) { a.Lease = 0 })),
		"a request of another mesh":     sealBy(mine, onRequest(func(q *build.Request) { q.Mesh = "mesh0002abcdefgh" })),
		"a request with another's id":   sealBy(mine, onRequest(func(q *build.Request) { q.ID = strings.Repeat("0", 32) })),
		"an id that is a path":          sealBy(mine, onRequest(func(q *build.Request) { q.ID = "../../../../../tmp/x" })),
		"another type": func(p link.PayloadType, v any) link.Envelope {
			e, err := link.Seal(rig.controller.declare, p, v)
			if err != nil {
				t.Error(err)
			}
			e.PayloadType = link.TypeReceipt
			return e
		},
	} {
		rig.controller.queue = []build.Request{good}
		rig.controller.forge = forge
		if _, err := b.turn(t.Context()); err == nil {
			t.Errorf("%s: it was taken", name)
		}
		if len(rig.controller.answers) > 0 || rig.registry.written() > 0 {
			t.Fatalf("%s: it was built", name)
		}
	}
}

// A receipt is believed like everything else: an answer is not forgotten for a
// receipt that the mesh did not sign, or that is for another.
func TestAnAnswerIsKeptUntilTheMeshItselfHasIt(t *testing.T) {
	t.Parallel()
	repo, rig := newRepository(t), newRig(t)
	stranger, err := link.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	b, closeAll, err := open(t.Context(), rig.config)
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll()
	b.caller.link = rig.controller
	rig.ask(repo.request(repo.commit(plain()), ""))
	rig.controller.forge = func(p link.PayloadType, v any) link.Envelope {
		key := rig.controller.declare
		if p == link.TypeReceipt {
			key = stranger
		}
		e, err := link.Seal(key, p, v)
		if err != nil {
			t.Error(err)
		}
		return e
	}
	for range 3 {
		if _, err := b.turn(t.Context()); err == nil {
			t.Error("a receipt by a stranger was believed")
		}
		if ids, err := b.state.peek(); err != nil || len(ids) != 1 {
			t.Fatalf("kept: %v, %v", ids, err)
		}
	}
	rig.controller.forge = func(p link.PayloadType, v any) link.Envelope {
		if r, ok := v.(link.Receipt); ok {
			r.For = strings.Repeat("0", 32)
			v = r
		}
		e, err := link.Seal(rig.controller.declare, p, v)
		if err != nil {
			t.Error(err)
		}
		return e
	}
	if _, err := b.turn(t.Context()); err == nil {
		t.Error("a receipt for another request was believed")
	}
	rig.controller.forge = nil
	if _, err := b.turn(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ids, err := b.state.peek(); err != nil || len(ids) != 0 {
		t.Fatalf("kept after the receipt: %v, %v", ids, err)
	}
}

// A rotated declare key comes with the answer that it signed; the root decides.
func TestANewDeclareKeyIsFollowed(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	b, closeAll, err := open(t.Context(), rig.config)
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll()
	b.caller.link = rig.controller
	next, err := link.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	bring := func(root link.Key, version int64) {
		rig.controller.forge = func(p link.PayloadType, v any) link.Envelope {
			if a, ok := v.(link.WorkAnswer); ok {
				keys, err := link.Seal(root, link.TypeKeys, link.Keys{Format: link.Format, Mesh: testMesh, Version: version, Declare: []link.PublicKey{next.Public()}})
				if err != nil {
					t.Error(err)
				}
				a.Keys = &keys
				v = a
			}
			e, err := link.Seal(next, p, v)
			if err != nil {
				t.Error(err)
			}
			return e
		}
	}
	stranger, err := link.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	bring(stranger, 2)
	if _, err := b.turn(t.Context()); err == nil {
		t.Error("a key document of another root was believed")
	}
	bring(rig.root, 2)
	if _, err := b.turn(t.Context()); err != nil {
		t.Errorf("the next key document: %v", err)
	}
	_, keys, err := b.state.member()
	if err != nil || keys.Version != 2 {
		t.Errorf("kept version %d, %v", keys.Version, err)
	}
}
