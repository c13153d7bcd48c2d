package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	cpu := flag.Duration("cpu", 20*time.Second, "the CPU `time` of each target")
	only := flag.String("only", "", "only targets of which this `pattern` matches \"folder FuzzName\"")
	state := flag.String("state", "", "the `folder` that corpora and figures are kept in; Go's own without one")
	flag.Parse()
	err := run(ctx, *cpu, *only, *state)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
}

// run gives each target what it has not had yet, and says what each has had.
func run(ctx context.Context, cpu time.Duration, only, state string) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	targets, err := list(".", pattern)
	if err != nil {
		return err
	}
	if len(targets) == 0 {
		return fmt.Errorf("no target matches %q", only)
	}
	r, err := newRunner(ctx, cpu, state)
	if err != nil {
		return err
	}
	var failed []error
	for _, t := range targets {
		if err := r.target(ctx, t); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", t, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	fmt.Printf("clean for %s of CPU: %d targets as they are, %d more as they were before, %d not yet\n", long, r.stands.long, r.stands.before, r.stands.never)
	return errors.Join(append(failed, os.RemoveAll(r.work))...)
}
