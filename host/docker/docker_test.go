package docker

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"noxmesh/document"
	"noxmesh/host/container"
	"noxmesh/host/system"
	"noxmesh/internal/fault"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// daemon is a docker whose daemon answers like that.
func daemon(t *testing.T, answer http.HandlerFunc) Docker {
	t.Helper()
	sys, err := system.Open(t.TempDir())
	must(t, err)
	t.Cleanup(func() { must(t, sys.Close()) })
	d := Docker{sys: sys, socket: filepath.Join(t.TempDir(), "s"), limit: answerLimit}
	if answer == nil {
		return d
	}
	l, err := net.Listen("unix", d.socket)
	must(t, err)
	server := &http.Server{Handler: answer}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { must(t, server.Close()) })
	return d
}

// says is an error with what is to be done about it.
func says(err error) string {
	if err == nil {
		return ""
	}
	return strings.TrimSuffix(err.Error()+"; "+fault.HintOf(err), "; ")
}

// A daemon that is not there, that hangs or that talks nonsense is said by name, and
// waited for no longer than a question may take.
func TestADaemonThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	hangs := daemon(t, func(http.ResponseWriter, *http.Request) { <-ended })
	t.Cleanup(func() { close(ended) })
	hangs.limit = time.Millisecond
	for name, c := range map[string]struct {
		docker Docker
		want   string
	}{
		"not there": {daemon(t, nil), `list containers: docker does not answer at "SOCKET": no such file or directory; systemctl status docker says why; systemctl start docker starts its daemon`},
		"hangs":     {hangs, `list containers: docker has not answered at "SOCKET" after 0s; systemctl status docker says what its daemon does; systemctl restart docker starts it anew, and with it every container of it`},
		"breaks off": {
			daemon(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }),
			`list containers: docker does not answer at "SOCKET": EOF; systemctl status docker says why; systemctl start docker starts its daemon`,
		},
		"refuses":  {daemon(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500); fmt.Fprint(w, `{"message":"no"}`) }), "list containers: docker says: no"},
		"nonsense": {daemon(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }), "list containers: read what docker answers: invalid character '<' looking for beginning of value"},
	} {
		_, err := c.docker.Containers(t.Context(), []string{"web"})
		if got := strings.ReplaceAll(says(err), c.docker.socket, "SOCKET"); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, c.want)
		}
	}
}

// An image that breaks off on its way is said to be that, whatever docker makes of it;
// and what docker says against a whole one is what counts.
func TestAnImageThatDoesNotCome(t *testing.T) {
	t.Parallel()
	var half sync.Map // what was asked for beside
	digest := document.Sum([]byte("x"))
	whole := func(a *container.Archive) error {
		if err := a.Blob(digest, 1, func(w io.Writer) error { _, err := io.WriteString(w, "x"); return err }); err != nil {
			return err
		}
		return a.End(container.Manifest{Name: "a/b:c", Digest: digest, Size: 1, Config: digest, Layers: []document.Digest{digest}})
	}
	answer := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if r.Method == http.MethodPost {
				fmt.Fprint(w, text)
				return
			}
			half.Store(r.Method+" "+r.URL.Path, true)
			w.WriteHeader(http.StatusNotFound)
		}
	}
	for name, c := range map[string]struct {
		docker Docker
		fill   func(*container.Archive) error
		want   string
	}{
		"taken in":   {daemon(t, answer("{\"stream\":\"Loaded\"}\r\n")), whole, ""},
		"breaks off": {daemon(t, answer(`{"error":"unexpected EOF"}`)), func(*container.Archive) error { return errors.New("no way") }, "no way"},
		"refused":    {daemon(t, answer("{\"status\":\"x\"}\r\n{\"error\":\"invalid diffID\"}\r\n")), whole, `take in the image "a/b:c": docker says: invalid diffID`},
		"nonsense":   {daemon(t, answer("<html>")), whole, `take in the image "a/b:c": read what docker answers: invalid character '<' looking for beginning of value`},
		"not there":  {daemon(t, nil), whole, `take in the image "a/b:c": docker does not answer at "SOCKET": no such file or directory; systemctl status docker says why; systemctl start docker starts its daemon`},
	} {
		err := c.docker.Load(t.Context(), "a/b:c", c.fill)
		if got := strings.ReplaceAll(says(err), c.docker.socket, "SOCKET"); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, c.want)
		}
	}
	if _, gone := half.Load("DELETE /images/a/b:c"); !gone {
		t.Error("what docker has kept of an image that it could not take in is still there")
	}
}

// What is gone already is gone, what somebody uses stays, and a container that docker is
// at removing is waited for.
func TestWhatIsRemoved(t *testing.T) {
	t.Parallel()
	var asked []string
	d := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.RequestURI())
		switch {
		case strings.HasPrefix(r.URL.Path, "/containers/json"):
			fmt.Fprint(w, `[{"Id":"1","Names":["/web"],"Labels":{"mesh.container":"web"}},{"Id":"2","Names":["/foreign"]}]`)
		case r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, "none"):
			w.WriteHeader(http.StatusNotFound)
		case r.Method == http.MethodDelete:
			w.WriteHeader(http.StatusConflict)
		}
	})
	must(t, d.RemoveImage(t.Context(), "a/none"))
	must(t, d.RemoveImage(t.Context(), "a/used"))
	must(t, d.RemoveContainer(t.Context(), "foreign"))
	must(t, d.RemoveContainer(t.Context(), "web"))
	const want = "DELETE /images/a/none\nDELETE /images/a/used\nGET /containers/json?all=1\nGET /containers/json?all=1\nDELETE /containers/1?force=1\nPOST /containers/1/wait?condition=removed"
	if got := strings.Join(asked, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
