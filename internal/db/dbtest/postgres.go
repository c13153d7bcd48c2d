package dbtest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx", to make databases with
)

// server is a running Postgres whose socket and data lie in dir.
type server struct {
	dir   string
	stdin *os.File // kept open; the server's keeper stops it when this is closed
}

// keeper runs the server as its child and stops it, by its id, once its own
// input ends: when the test binary has ended, also by a panic or a kill.
const keeper = `"$1/postgres" -D "$2/data" -k "$2" -c listen_addresses= -c fsync=off -c full_page_writes=off \
  -c shared_buffers=16MB -c max_connections=200 </dev/null >>"$2/log" 2>&1 &
read -r _
kill -QUIT $!
wait $!
rm -rf "$2"`

func start() (*server, error) {
	bin, err := find()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "meshpg")
	if err != nil {
		return nil, err
	}
	as, err := owner(dir)
	if err != nil {
		return nil, err
	}
	if err := initialise(bin, dir, as); err != nil {
		return nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("/bin/sh", "-c", keeper, "sh", bin, dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as, Setpgid: true}
	cmd.Stdin, cmd.Dir = read, dir
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{dir, write}
	if err := errors.Join(read.Close(), s.ready()); err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "log")) // only adds to what is told
		return nil, fmt.Errorf("start Postgres in %q: %w\n%s", dir, err, log)
	}
	return s, nil
}

// find is the folder with initdb and postgres.
func find() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(real), nil
		}
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", errors.New("the record is tested on Postgres too, and there is none: " +
			"install it (apt install postgresql, dnf install postgresql-server, brew install postgresql), " +
			"or leave those tests out with MESH_TEST_NO_POSTGRES=1")
	}
	return filepath.Dir(found[len(found)-1]), nil
}

// owner is as whom the server runs. It refuses to run as root.
func owner(dir string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // as whoever runs the test
	}
	who, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("run Postgres for a test as root: %w", err)
	}
	uid, err := strconv.ParseUint(who.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(who.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, os.Chown(dir, int(uid), int(gid))
}

// initialise makes the cluster with the order of letters of a language, so that
// whoever lets the database sort text is found out.
func initialise(bin, dir string, as *syscall.Credential) error {
	locale := []string{"--locale-provider=icu", "--icu-locale=en-US"}
	plain := []string{"--locale=C"}
	var out bytes.Buffer
	for _, extra := range [][]string{locale, plain} {
		args := append([]string{"-D", filepath.Join(dir, "data"), "-U", "mesh", "-A", "trust", "-E", "UTF8", "--no-sync", "--no-instructions"}, extra...)
		cmd := exec.Command(filepath.Join(bin, "initdb"), args...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
		cmd.Stdout, cmd.Stderr, cmd.Dir = &out, &out, dir
		if err := cmd.Run(); err == nil {
			return nil
		}
	}
	return fmt.Errorf("make a Postgres cluster in %q:\n%s", dir, out.String())
}

func (s *server) address(name string) string {
	return "postgres://mesh@/" + name + "?host=" + s.dir
}

// ready waits until the server answers: it says so in no other way.
func (s *server) ready() error {
	deadline := time.Now().Add(30 * time.Second)
	for {
		err := s.exec("SELECT 1")
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (s *server) create(name, like string) error {
	if err := s.exec("CREATE DATABASE " + name + " TEMPLATE " + like); err != nil {
		return fmt.Errorf("make the database %q: %w", name, err)
	}
	return nil
}

func (s *server) exec(statement string) error {
	pool, err := sql.Open("pgx", s.address("postgres"))
	if err != nil {
		return err
	}
	_, err = pool.ExecContext(context.Background(), statement)
	return errors.Join(err, pool.Close())
}
