package controller

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"sync"
	"time"

	"noxmesh/api"
	"noxmesh/delivery/source"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/status"
	"noxmesh/trouble"
	troublestore "noxmesh/trouble/store"
)

// hookGap is between two looks at one repository that hooks ask for: whoever can
// reach the port can call them, and each look asks a forge.
const hookGap = 2 * time.Second

// hooks is what forges have called for. It is memory: what is lost with it is
// found by the next look. Only how many were signed wrong nobody would find out
// again, and that is in the record as of the last look.
type hooks struct {
	mu      sync.Mutex // guards what follows
	of      map[string]string
	began   map[string]time.Time // by repository: when the last look at it began
	waiting map[string]bool      // by repository: a look that hooks asked for is to begin
	said    map[string][]source.Push
	tries   map[string]int             // by module: looks since the forge is behind its webhook
	wrong   map[string]trouble.Trouble // by module: hooks whose signature was wrong, since the last that was right
	kept    map[string]trouble.Trouble // the same, as the record has it
}

func newHooks() *hooks {
	return &hooks{
		of: map[string]string{}, began: map[string]time.Time{}, waiting: map[string]bool{}, said: map[string][]source.Push{}, tries: map[string]int{},
		wrong: map[string]trouble.Trouble{}, kept: map[string]trouble.Trouble{},
	}
}

// forgedKey is the trouble that hooks for a module are whose signature was wrong:
// one entry, however many come. Its words are where the last came from.
func forgedKey(module string) string { return "hook/" + module }

// signed keeps whether a hook for a module that is known was signed right. One
// that was ends what is said of those that were not.
func (h *hooks) signed(module, from string, right bool, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known := h.of[module]; !known || right {
		delete(h.wrong, module)
		return
	}
	h.wrong[module] = h.wrong[module].Again(forgedKey(module), "wrong-signature", from, now)
}

// forged is what there is to say of hooks that were signed wrong, if there is
// anything. Before this process has looked at the module, the record says it.
func (h *hooks) forged(module string, recorded trouble.Trouble) (status.Notice, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := recorded
	if _, known := h.of[module]; known {
		t = h.wrong[module]
	}
	if t.Count == 0 {
		return status.Notice{}, false
	}
	times := "once"
	if t.Count > 1 {
		times = strconv.FormatInt(t.Count, 10) + " times, the last"
	}
	return status.Notice{Kind: "wrong-signature", Since: t.Since, Says: fmt.Sprintf(
		"a webhook with a wrong signature came %s at %s from %s; if that is its forge, give it the secret that mesh module hook %s shows",
		times, t.Last.UTC().Format(time.RFC3339), t.Says, module)}, true
}

// knows reports whether this process has looked at a module.
func (h *hooks) knows(module string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, known := h.of[module]
	return known
}

// recall is what the record says of hooks that were signed wrong, before the
// first look of this process.
func (h *hooks) recall(module string, recorded trouble.Trouble) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known := h.of[module]; !known && recorded.Count > 0 {
		h.wrong[module], h.kept[module] = recorded, recorded
	}
}

// unkept is how many were signed wrong, and whether the record says otherwise.
func (h *hooks) unkept(module string) (trouble.Trouble, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	is, kept := h.wrong[module], h.kept[module]
	return is, is.Count != kept.Count || !is.Last.Equal(kept.Last)
}

// keep notes that the record says this now.
func (h *hooks) keep(module string, is trouble.Trouble) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.kept[module] = is; is.Count == 0 {
		delete(h.kept, module)
	}
}

// looking notes that a look at a module begins, and which repository that is.
func (h *hooks) looking(module, repository string, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of[module], h.began[repository] = repository, now
}

// forget is a module that is gone.
func (h *hooks) forget(module string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.of, module)
	delete(h.said, module)
	delete(h.tries, module)
	delete(h.wrong, module)
	delete(h.kept, module)
}

// mostSaid is how many pushes of one module are kept until the next look.
const mostSaid = 16

// hear keeps what a hook says of every module of its repository.
func (h *hooks) hear(module string, p source.Push) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for m, repository := range h.of {
		if repository == h.of[module] && len(h.said[m]) < mostSaid {
			h.said[m] = append(h.said[m], p)
		}
	}
}

// saidOf is what hooks have said of a module since it was last heeded.
func (h *hooks) saidOf(module string) []source.Push {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.said[module]
}

// heeded forgets the first n that were said.
func (h *hooks) heeded(module string, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.said[module] = h.said[module][min(n, len(h.said[module])):]; len(h.said[module]) == 0 {
		delete(h.said, module)
	}
}

// ask reports how long a look that a hook asks for has to wait, and false where
// one waits already or nobody knows the module.
func (h *hooks) ask(module string, now time.Time) (repository string, wait time.Duration, is bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	repository, known := h.of[module]
	if !known || h.waiting[repository] {
		return "", 0, false
	}
	h.waiting[repository] = true
	return repository, max(0, hookGap-now.Sub(h.began[repository])), true
}

// begin ends the wait, and is the modules to look at.
func (h *hooks) begin(repository string, now time.Time) (modules []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.waiting, repository)
	h.began[repository] = now // hooks that come before the look itself begins wait for the next
	for m, r := range h.of {
		if r == repository {
			modules = append(modules, m)
		}
	}
	return modules
}

// mostPatience is how many looks follow soon, each twice as late as the one
// before, when a forge is behind its own webhook. Afterwards it is looked at as always.
const mostPatience = 6

func (h *hooks) patience(module string, behind bool) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !behind {
		delete(h.tries, module)
		return 0
	}
	if h.tries[module]++; h.tries[module] > mostPatience {
		return 0
	}
	return hookGap << (h.tries[module] - 1)
}

// answerHook is what a forge calls. It means "look now", at every module of that
// repository; nobody learns from the answer whether there is such a module, or
// whether what they signed was signed right. However many come, one look
// begins, and one more after it for those that came meanwhile.
func (c *Controller) answerHook(_ context.Context, _ api.Who, in api.HookIn) (api.Nothing, error) {
	right := c.signed(in)
	if in.Signature != "" || in.Token != "" {
		c.hooks.signed(in.Module, in.From, right, clock.Now())
	}
	if right {
		if p, ok := source.ParsePush(in.Body); ok {
			c.hooks.hear(in.Module, p)
		}
	}
	repository, wait, is := c.hooks.ask(in.Module, clock.Now())
	if !is {
		return api.Nothing{}, nil
	}
	time.AfterFunc(wait, func() {
		for _, m := range c.hooks.begin(repository, clock.Now()) {
			c.sources.Nudge(m)
		}
	})
	return api.Nothing{}, nil
}

// recallForged reads how many hooks for a module were signed wrong, where this
// process has not looked at it before.
func (c *Controller) recallForged(tx *db.Tx, module string) error {
	if c.hooks.knows(module) {
		return nil
	}
	t, _, err := troublestore.One(tx, forgedKey(module))
	if err == nil {
		c.hooks.recall(module, t)
	}
	return err
}

// keepForged records how many were signed wrong. Each hook brings a look about,
// and looks have a gap between them: so has this write, whoever sends how many.
func (c *Controller) keepForged(ctx context.Context, module string) error {
	is, differs := c.hooks.unkept(module)
	if !differs {
		return nil
	}
	err := c.write(ctx, func(tx *db.Tx) error {
		if is.Count == 0 {
			return troublestore.Clear(tx, forgedKey(module))
		}
		return troublestore.Save(tx, is)
	})
	if err == nil {
		c.hooks.keep(module, is)
	}
	return err
}

// signed reports whether the hook was signed with the module's secret.
func (c *Controller) signed(in api.HookIn) bool {
	if len(in.Body) == 0 {
		return false
	}
	secret := c.hookSecret(in.Module)
	if in.Token != "" {
		return hmac.Equal([]byte(in.Token), []byte(secret))
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(in.Body)
	return hmac.Equal([]byte(in.Signature), []byte(hex.EncodeToString(mac.Sum(nil))))
}

// hookSecret is what a forge signs its webhook for a module with. It is made of
// the mesh's own key, and stands nowhere.
func (c *Controller) hookSecret(module string) string {
	mac := hmac.New(sha256.New, c.keys.declare.Seed())
	mac.Write([]byte("webhook of module " + module))
	return hex.EncodeToString(mac.Sum(nil))
}

func (c *Controller) answerModuleHook(ctx context.Context, _ api.Who, in api.ModuleIn) (api.HookOut, error) {
	if _, _, _, err := c.factsOf(ctx, in.Module); err != nil {
		return api.HookOut{}, err
	}
	return api.HookOut{URL: c.at.API + "/hooks/" + in.Module, Secret: c.hookSecret(in.Module)}, nil
}
