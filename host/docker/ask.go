package docker

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"noxmesh/host/container"
	"noxmesh/internal/fault"
	"noxmesh/internal/intime"
)

const answerMost = 64 << 20 // of what docker answers is read

// refusal is an answer of docker that is none.
type refusal struct {
	code int
	error
}

func (r refusal) Unwrap() error { return r.error }

// isAbsent reports whether docker has no such thing.
func isAbsent(err error) bool { return refusedWith(err) == http.StatusNotFound }

// isUsed reports whether docker has something, and somebody is at it.
func isUsed(err error) bool { return refusedWith(err) == http.StatusConflict }

func refusedWith(err error) int {
	var r refusal
	if errors.As(err, &r) {
		return r.code
	}
	return 0
}

// ask has docker answer a question.
func ask[T any](ctx context.Context, d Docker, doing, question string, parse func([]byte) (T, error)) (T, error) {
	var answer T
	text, err := d.call(ctx, d.limit, request{doing: doing, method: http.MethodGet, question: question})
	if err != nil {
		return answer, err
	}
	if answer, err = parse(text); err != nil {
		return answer, fault.Wrap(fault.Conflict, err, "%s: read what docker answers", doing)
	}
	return answer, nil
}

// tell has docker do something.
func (d Docker) tell(ctx context.Context, doing, method, question string) error {
	_, err := d.call(ctx, removeLimit, request{doing: doing, method: method, question: question})
	return err
}

// request is something that docker is asked.
type request struct {
	doing, method, question string
	body                    io.Reader
}

// call asks the daemon at its socket, for at most so long. Nothing is kept open: the
// daemon may be another one the next time.
func (d Docker) call(ctx context.Context, limit time.Duration, q request) ([]byte, error) {
	d.sys.Step()
	defer d.sys.Step()
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	where, query, _ := strings.Cut(q.question, "?")
	to := url.URL{Scheme: "http", Host: program, Path: where, RawQuery: query}
	ask, err := http.NewRequestWithContext(ctx, q.method, to.String(), q.body)
	if err != nil {
		return nil, fault.Wrap(fault.Broken, err, "%s", q.doing)
	}
	if q.body != nil {
		ask.Header.Set("Content-Type", "application/x-tar")
	}
	way := intime.Transport{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, "unix", d.socket)
	}}}
	answer, err := way.RoundTrip(ask)
	if err != nil {
		return nil, d.silent(ctx, err, q.doing, time.Since(began))
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, answerMost))
	if err != nil {
		return nil, d.silent(ctx, err, q.doing, time.Since(began))
	}
	if answer.StatusCode >= http.StatusMultipleChoices {
		return nil, refusal{answer.StatusCode, failed(parseRefusal(text), "%s", q.doing)}
	}
	return text, nil
}

// silent is why docker has not answered, and what to do about it.
func (d Docker) silent(ctx context.Context, err error, doing string, waited time.Duration) error {
	var why syscall.Errno
	text := container.LastWords(err.Error())
	switch {
	case ctx.Err() != nil:
		return fault.New(fault.Conflict, "%s: docker has not answered at %q after %s", doing, d.socket, waited.Round(time.Second)).
			With("systemctl status docker says what its daemon does; systemctl restart docker starts it anew, and with it every container of it")
	case errors.As(err, &why):
		text = why.Error()
	}
	return fault.New(fault.Conflict, "%s: docker does not answer at %q: %s", doing, d.socket, text).
		With("systemctl status docker says why; systemctl start docker starts its daemon")
}
