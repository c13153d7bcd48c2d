package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	once := flag.Bool("once", false, "stop at the end, and leave nothing behind")
	bin := flag.String("bin", "bin", "the `folder` of the four programs")
	dir := flag.String("dir", "mesh-demo", "the `folder` to work in")
	flag.Parse()
	err := run(ctx, *bin, *dir, *once)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// run tells the story, and keeps the mesh running until it is stopped where once is not asked for.
func run(ctx context.Context, bin, dir string, once bool) (err error) {
	if once {
		if dir, err = os.MkdirTemp("", "mesh-demo-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	if bin, err = filepath.Abs(bin); err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil { // the story begins at the beginning
		return err
	}
	s := &story{bin: bin, dir: dir}
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.end()
	if err := s.tell(ctx); err != nil {
		return fmt.Errorf("%w\n%s", err, s.logs())
	}
	if once {
		return nil
	}
	s.next()
	select {
	case <-ctx.Done():
	case <-s.ended:
	}
	return nil
}
