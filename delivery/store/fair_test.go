package deliverystore_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	deliverystore "noxmesh/delivery/store"
	"noxmesh/internal/db"
	"noxmesh/internal/db/dbtest"
)

// shared is a queue that two builders share, and what must hold of each step.
type shared struct {
	t       *testing.T
	random  *rand.Rand
	d       *db.DB
	now     time.Time
	waits   map[string][]string // by module, in the order in which they were asked for
	working map[string]*deliverystore.RequestRow
	since   map[string]int // by module that waits: how many of others were given meanwhile
}

// give lets a builder ask for work, and looks at what it is given.
func (s *shared) give(builder string) {
	s.t.Helper()
	r := take(s.t, s.d, builder, s.now)
	if r == nil {
		s.t.Fatalf("builder %s was given nothing, and %d modules wait", builder, len(s.waits))
	}
	for other, has := range s.working {
		if has.ID == r.ID {
			s.t.Fatalf("request %s is at %s and at %s at one time", r.ID, other, builder)
		}
	}
	if s.waits[r.Module][0] != r.ID {
		s.t.Fatalf("%s of %s was given before %s", r.ID, r.Module, s.waits[r.Module][0])
	}
	s.waits[r.Module] = s.waits[r.Module][1:]
	if len(s.waits[r.Module]) == 0 {
		delete(s.waits, r.Module)
	}
	for m := range s.waits {
		s.since[m]++
	}
	s.since[r.Module] = 0
	s.working[builder] = r
	// A builder that asks again before it has begun is given the same again, never a second.
	if again := take(s.t, s.d, builder, s.now); again == nil || again.ID != r.ID {
		s.t.Fatalf("builder %s has %s and was given %v beside it", builder, r.ID, again)
	}
	if stop := extend(s.t, s.d, r.ID, builder, s.now); stop != "" {
		s.t.Fatalf("builder %s is stopped: %s", builder, stop)
	}
}

// TestAHundredBuildsOnTwoBuilders: a builder never has two at once, nor two
// builders one; of a module, what was asked for first is built first; and of
// modules with something to build none waits for more than one of each other,
// however much one of them has queued.
func TestAHundredBuildsOnTwoBuilders(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for seed := range uint64(3) {
			for _, table := range []string{"answer", "verdict", "build", "request"} {
				dbtest.Write(t, d, func(tx *db.Tx) error { _, err := tx.Exec(`DELETE FROM ` + table); return err })
			}
			t.Logf("seed %d", seed)
			s := &shared{
				t: t, random: rand.New(rand.NewPCG(seed, 0)), d: d, now: t0(), waits: map[string][]string{},
				working: map[string]*deliverystore.RequestRow{}, since: map[string]int{},
			}
			s.fill()
			s.work()
			if r := take(t, d, "b1", s.now); r != nil {
				t.Fatalf("%s is given when all are built", r.ID)
			}
		}
	})
}

// work lets both builders work in any order until nothing waits.
func (s *shared) work() {
	s.t.Helper()
	modules := len(s.waits)
	for len(s.waits) > 0 || len(s.working) > 0 {
		s.now = s.now.Add(time.Second)
		builder := []string{"b1", "b2"}[s.random.IntN(2)]
		if has := s.working[builder]; has != nil {
			save(s.t, s.d, built(s.t, *has, builder, has.ID), s.now)
			delete(s.working, builder)
		} else if len(s.waits) > 0 {
			s.give(builder)
		}
		for m, n := range s.since {
			if len(s.waits[m]) > 0 && n >= modules {
				s.t.Fatalf("%s waits while %d others were given, and there are %d modules", m, n, modules)
			}
		}
	}
}

// fill asks for a hundred builds in any order: ninety of one module, the rest
// of up to five others. Each is one that was given before and given back: of what
// nobody was ever given only the newest of a module stays in the queue.
func (s *shared) fill() {
	s.t.Helper()
	others := 1 + s.random.IntN(5)
	order := slices.Repeat([]string{"hostile"}, 90)
	for n := range 10 {
		order = append(order, fmt.Sprintf("m%d", n%others))
	}
	s.random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	dbtest.Write(s.t, s.d, func(tx *db.Tx) error {
		for n, m := range order {
			r := request(s.t, m, fmt.Sprintf("c%d", n), 1, s.now.Add(time.Duration(n)*time.Millisecond))
			s.waits[m] = append(s.waits[m], r.ID)
			if err := deliverystore.AddRequest(tx, r); err != nil {
				return err
			}
			if _, err := tx.Exec(`UPDATE request SET leased_at = 1`); err != nil {
				return err
			}
		}
		return nil
	})
}
