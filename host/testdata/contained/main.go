// Command contained is what the containers of the tests run.
package main

import (
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	said := ""
	if len(os.Args) > 1 {
		said = os.Args[1]
	}
	switch said {
	case "check":
		if _, err := os.Stat("/data/sick"); err == nil {
			fmt.Println("there is something\nin /data/sick")
			os.Exit(1)
		}
		return
	case "exit":
		os.Exit(3)
	case "later":
		time.Sleep(3 * time.Second)
		os.Exit(4)
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	if l, err := net.Listen("tcp", ":8000"); err == nil {
		go answer(l)
	}
	<-ended
}

// answer tells whoever asks what this container is.
func answer(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		variant, _ := os.ReadFile("/variant")
		in, _ := os.ReadFile("/data/in")
		fmt.Fprintf(c, "%s|%s|%q|%d|%s", variant, strings.Join(os.Args, " "), os.Getenv("SAYS"), os.Getuid(), in)
		c.Close()
	}
}
