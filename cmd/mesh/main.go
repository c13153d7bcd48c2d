// Command mesh asks a controller, and tells it what people decide.
package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"noxmesh/cli"
)

// version is set when the program is built.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	status := cli.Run(ctx, cli.Config{
		Version: version, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Getenv, Self: filepath.Dir(self),
	}, os.Args[1:])
	stop()
	os.Exit(status)
}
