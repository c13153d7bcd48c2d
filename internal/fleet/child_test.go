package fleet

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"noxmesh/controller"
	"noxmesh/identity"
)

// TestMain is one of the processes where the environment says so.
func TestMain(m *testing.M) {
	roles := map[string]func(context.Context) error{
		"controller": runController, "nodes": runNodes, "bare": runBare, "clients": runClients,
	}
	if role := roles[os.Getenv("MESH_FLEET")]; role != nil {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		err := role(ctx)
		stop()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child is one process of this binary.
type child struct {
	tb     testing.TB
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Scanner
	began  time.Time
	killed bool
}

func begin(tb testing.TB, role string, env ...string) *child {
	tb.Helper()
	c := &child{tb: tb, cmd: exec.Command(os.Args[0]), began: time.Now()}
	c.cmd.Env = append(append(os.Environ(), "MESH_FLEET="+role), env...)
	c.cmd.Stderr = os.Stderr
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		tb.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	c.out = bufio.NewScanner(out)
	if err := c.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.end)
	return c
}

// end lets the process end in order.
func (c *child) end() {
	if !c.killed {
		c.killed = true
		_ = c.cmd.Process.Signal(syscall.SIGTERM)
		_ = c.cmd.Wait() // how it ended is no figure
	}
}

// say writes one line and reads one.
func (c *child) say(line string) string {
	c.tb.Helper()
	if _, err := fmt.Fprintln(c.in, line); err != nil {
		c.tb.Fatal(err)
	}
	return c.hear()
}

func (c *child) hear() string {
	c.tb.Helper()
	if !c.out.Scan() {
		c.tb.Fatal("the process said nothing more: ", c.out.Err())
	}
	return c.out.Text()
}

// rss is the process's resident memory in bytes.
func (c *child) rss() float64 {
	c.tb.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	if err != nil {
		c.tb.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmRSS:" {
			kb, err := strconv.ParseFloat(f[1], 64)
			if err != nil {
				c.tb.Fatal(err)
			}
			return kb * 1024
		}
	}
	c.tb.Fatal("no VmRSS")
	return 0
}

// cpu is the processor time that the process has used.
func (c *child) cpu() time.Duration {
	c.tb.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.cmd.Process.Pid))
	if err != nil {
		c.tb.Fatal(err)
	}
	f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, err := strconv.Atoi(f[11])
	if err != nil {
		c.tb.Fatal(err)
	}
	system, err := strconv.Atoi(f[12])
	if err != nil {
		c.tb.Fatal(err)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

func runController(ctx context.Context) error {
	var cfg controller.Config
	if err := json.Unmarshal([]byte(os.Getenv("MESH_FLEET_CONFIG")), &cfg); err != nil {
		return err
	}
	cfg.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	if p := os.Getenv("MESH_FLEET_PROFILE"); p != "" {
		stop, err := profile(p)
		if err != nil {
			return err
		}
		defer stop()
	}
	return controller.Run(ctx, cfg)
}

// stats is how the nodes stand to one content of one module.
type stats struct{ Connected, Accepted, Current, Reported int }

// runNodes is all nodes. A line "MODULE CONTENT MILLISECONDS" asks how they
// stand to it, and who has been told so since then.
func runNodes(ctx context.Context) error {
	data, err := os.ReadFile(os.Getenv("MESH_FLEET_NODES"))
	if err != nil {
		return err
	}
	var all []credentials
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	heartbeat, err := time.ParseDuration(os.Getenv("MESH_FLEET_HEARTBEAT"))
	if err != nil {
		return err
	}
	nodes := make([]*node, len(all))
	var running sync.WaitGroup
	defer running.Wait()
	for i, c := range all {
		if nodes[i], err = newNode(c); err != nil {
			return err
		}
		running.Go(func() {
			if err := nodes[i].run(ctx, heartbeat); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		})
	}
	go func() {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			words := append(strings.Split(in.Text(), " "), "", "")
			since, _ := strconv.ParseInt(words[2], 10, 64)                                // none is 1970
			b, _ := json.Marshal(count(nodes, words[0], words[1], time.UnixMilli(since))) // four numbers
			fmt.Println(string(b))
		}
	}()
	<-ctx.Done()
	return nil
}

func count(nodes []*node, module, content string, since time.Time) (s stats) {
	one := func(n *int, is bool) {
		if is {
			*n++
		}
	}
	for _, n := range nodes {
		one(&s.Connected, n.conn != nil && n.conn.Connected())
		accepted, current, reported := n.holdsContent(module, content, since)
		one(&s.Accepted, accepted)
		one(&s.Current, current)
		one(&s.Reported, reported)
	}
	return s
}

// runBare is a broker of the library's own, with TLS and nothing else.
func runBare(ctx context.Context) error {
	ca, err := identity.NewCA(time.Now())
	if err != nil {
		return err
	}
	cert, err := ca.Issue([]string{"127.0.0.1"}, time.Now(), time.Hour)
	if err != nil {
		return err
	}
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, TLS: true, TLSHandshakeFirst: true, TLSTimeout: 15, MaxConn: 20_000,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{cert}},
	})
	if err != nil {
		return err
	}
	go s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		return fmt.Errorf("the bare broker is not ready")
	}
	fmt.Println(s.Addr().(*net.TCPAddr).Port)
	<-ctx.Done()
	s.Shutdown()
	return nil
}

// runClients dials the bare broker with so many connections at once as it can,
// each with one subscription, and says how long that took.
func runClients(ctx context.Context) error {
	n, err := strconv.Atoi(os.Getenv("MESH_FLEET_CLIENTS"))
	if err != nil {
		return err
	}
	began := time.Now()
	var dialling sync.WaitGroup
	slots := make(chan struct{}, 64)
	for i := range n {
		dialling.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			nc, err := nats.Connect("tls://127.0.0.1:"+os.Getenv("MESH_FLEET_PORT"), nats.TLSHandshakeFirst(), nats.Timeout(15*time.Second),
				nats.Secure(&tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}))
			if err == nil {
				_, err = nc.Subscribe(fmt.Sprintf("decl.%d", i), func(*nats.Msg) {})
			}
			if err == nil {
				err = nc.Flush()
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		})
	}
	dialling.Wait()
	fmt.Println(time.Since(began).Seconds())
	<-ctx.Done()
	return nil
}
