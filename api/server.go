package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strings"

	"noxmesh/document"
	"noxmesh/identity"
	"noxmesh/internal/fault"
)

// Who is whoever makes a call.
type Who struct {
	Name string
	Role identity.Role
}

// Server answers calls. It checks the role of each before its handler is reached.
type Server struct {
	mux  *http.ServeMux
	who  func(*http.Request) (Who, error)
	log  *slog.Logger
	rows map[string]bool
}

// NewServer is a server without handlers. Who says who makes a request: an
// error is a wrong credential, and a Who of role Anyone is none.
func NewServer(who func(*http.Request) (Who, error), log *slog.Logger) *Server {
	s := &Server{mux: http.NewServeMux(), who: who, log: log, rows: map[string]bool{}}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, fault.New(fault.NotFound, "no call %s %q", document.Short(r.Method), document.Short(r.URL.Path)).With("GET /v1/openapi.json lists the calls"))
	})
	s.mux.HandleFunc("GET /v1/openapi.json", func(w http.ResponseWriter, r *http.Request) {
		s.answer(w, r, http.StatusOK, OpenAPI())
	})
	return s
}

// Missing is the rows of the table that no handler answers.
func (s *Server) Missing() []string {
	var missing []string
	for _, row := range Table() {
		if !s.rows[row.Name] {
			missing = append(missing, row.Name)
		}
	}
	return missing
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Handle answers a call with f.
func Handle[In, Out any](s *Server, c Call[In, Out], f func(context.Context, Who, In) (Out, error)) {
	s.rows[c.Row.Name] = true
	s.mux.HandleFunc(c.Row.Method+" "+c.Row.Path, func(w http.ResponseWriter, r *http.Request) {
		out, err := serve(s, c, r, f)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		s.answer(w, r, http.StatusOK, out)
	})
}

func serve[In, Out any](s *Server, c Call[In, Out], r *http.Request, f func(context.Context, Who, In) (Out, error)) (out Out, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("panic in a call", "call", c.Row.Name, "panic", p, "stack", string(debug.Stack()))
			err = fault.New(fault.Broken, "%s: %v", c.Row.Name, p)
		}
	}()
	who, err := s.who(r)
	if err != nil && c.Row.Role != identity.Anyone {
		return out, err
	}
	if !identity.May(who.Role, c.Row.Role) {
		return out, denied(c.Row, who)
	}
	in, err := read[In](c.Row, r)
	if err != nil {
		return out, err
	}
	return f(r.Context(), who, in)
}

func denied(row Row, who Who) error {
	has := string(who.Role)
	if has == "" {
		has = "none"
	}
	return fault.New(fault.Denied, "%s takes the role %s, and that of %s is %s", row.Name, row.Role, who.Name, has).
		With("whoever runs the controller gives it: mesh login add NAME --role %s", row.Role)
}

// read is the call's In from its path, its query, and its body where it has one.
// A hook's body is its own: see readHook.
func read[In any](row Row, r *http.Request) (in In, err error) {
	if h, ok := any(&in).(*HookIn); ok {
		readHook(h, r)
		return in, fill(r, &in)
	}
	if hasBody(row.Method) {
		limits := row.limits()
		body, err := io.ReadAll(io.LimitReader(r.Body, int64(limits.Bytes)+1))
		if err != nil {
			return in, fault.Wrap(fault.Unavailable, err, "read the body of %s", row.Name)
		}
		if len(body) > 0 {
			if in, err = document.Decode[In]("body of "+row.Name, body, limits); err != nil {
				return in, err
			}
		}
	}
	return in, fill(r, &in)
}

// limits is what is read of the body of this call.
func (r Row) limits() document.Limits {
	limits := inLimits
	if r.Limit > 0 {
		limits.Bytes = r.Limit
	}
	return limits
}

// readHook reads a hook's body where somebody has signed it, and no further than
// the limit. Whatever is wrong with it, the hook still means "look now".
func readHook(in *HookIn, r *http.Request) {
	h := r.Header
	signature := cmp.Or(strings.TrimPrefix(h.Get("X-Hub-Signature-256"), "sha256="), h.Get("X-Forgejo-Signature"), h.Get("X-Gitea-Signature"))
	token := h.Get("X-Gitlab-Token")
	if signature == "" && token == "" {
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, int64(inLimits.Bytes)+1))
	if err == nil && len(body) <= inLimits.Bytes {
		in.Body, in.Signature, in.Token, in.From = body, signature, token, hostOf(r.RemoteAddr)
	}
}

// hostOf is an address without its port, which is another at each connection.
func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	kind := fault.KindOf(err)
	if r.Context().Err() != nil {
		return // whoever asked has gone
	}
	if kind == fault.Broken || kind == fault.Unknown {
		s.log.Error("a call failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	s.answer(w, r, StatusCode(kind), ProblemOf(err))
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, code int, v any) {
	b, err := document.Canonical(v)
	if err != nil {
		s.log.Error("an answer cannot be encoded", "path", r.URL.Path, "error", err)
		code, b = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be encoded","kind":"broken"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	if _, err := w.Write(append(b, '\n')); err != nil && !errors.Is(err, http.ErrHandlerTimeout) {
		s.log.Debug("an answer was not taken", "path", r.URL.Path, "error", fmt.Sprint(err))
	}
}
