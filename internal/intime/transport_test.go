package intime

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
)

var errLate = errors.New("nobody waits any more")

// closing notes that a body was closed.
type closing struct {
	io.Reader
	closed *bool
}

func (c closing) Close() error { *c.closed = true; return nil }

func TestAnAnswerAfterTheQuestionWasGivenUpIsNone(t *testing.T) {
	t.Parallel()
	ctx, giveUp := context.WithCancelCause(t.Context())
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://server/", nil)
	closed := false
	late := func(*http.Request) (*http.Response, error) {
		giveUp(errLate)
		return &http.Response{StatusCode: http.StatusOK, Body: closing{strings.NewReader(""), &closed}}, nil
	}
	response, err := inTime(r, late)
	if err == nil {
		response.Body.Close()
	}
	if !errors.Is(err, errLate) || !closed {
		t.Errorf("an answer that came late: %v, and its body was closed: %v", err, closed)
	}
}

func TestABodyThatEndsAfterTheQuestionWasGivenUpIsNotWhole(t *testing.T) {
	t.Parallel()
	read := func(given bool) (string, error) {
		ctx, giveUp := context.WithCancelCause(t.Context())
		defer giveUp(nil)
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://server/", nil)
		response, err := inTime(r, func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(iotest.OneByteReader(strings.NewReader("half")))}, nil
		})
		if err != nil {
			return "", err
		}
		defer response.Body.Close()
		half := make([]byte, 2)
		if _, err := io.ReadFull(response.Body, half); err != nil {
			return "", err
		}
		if given {
			giveUp(errLate)
		}
		rest, err := io.ReadAll(response.Body)
		return string(half) + string(rest), err
	}
	if got, err := read(false); got != "half" || err != nil {
		t.Errorf("while somebody asks: %q, %v", got, err)
	}
	if got, err := read(true); !errors.Is(err, errLate) {
		t.Errorf("when it was given up: %q, %v", got, err)
	}
}

func TestAnAnswerInTimeAndAFailureAreGivenAsTheyAre(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("yes")) }))
	defer server.Close()
	client := &http.Client{Transport: Transport{&http.Transport{}}}
	ask := func() (string, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
		if err != nil {
			return "", err
		}
		response, err := client.Do(r)
		if err != nil {
			return "", err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		return string(text), err
	}
	if got, err := ask(); got != "yes" || err != nil {
		t.Errorf("an answer in time: %q, %v", got, err)
	}
	client.CloseIdleConnections()
	server.Close()
	if got, err := ask(); err == nil {
		t.Errorf("with no server: %q", got)
	}
}
