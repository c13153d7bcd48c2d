package api

import (
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

// inLimits is what a server reads of a request.
var inLimits = document.Limits{Bytes: 1 << 20, Depth: 16} //nolint:gochecknoglobals // a constant struct

// outLimit is what a client reads of an answer, in bytes.
const outLimit = 64 << 20

// StatusCode is the HTTP status of an error of this kind.
func StatusCode(k fault.Kind) int {
	switch k {
	case fault.Invalid:
		return http.StatusBadRequest
	case fault.NotFound:
		return http.StatusNotFound
	case fault.Conflict:
		return http.StatusConflict
	case fault.Denied:
		return http.StatusForbidden
	case fault.Unavailable:
		return http.StatusServiceUnavailable
	case fault.Unknown, fault.Broken:
		return http.StatusInternalServerError
	}
	return http.StatusInternalServerError
}

// Problem is an error as it crosses.
type Problem struct {
	Kind string `json:"kind"`
	Text string `json:"error"`
	Hint string `json:"hint,omitempty"`
}

// ProblemOf is err as it crosses.
func ProblemOf(err error) Problem {
	return Problem{fault.KindOf(err).String(), err.Error(), fault.HintOf(err)}
}

// Err is the problem as an error again, on the other side.
func (p Problem) Err() error {
	kind, _ := fault.ParseKind(p.Kind)
	return &fault.Error{Kind: kind, Text: p.Text, Hint: p.Hint}
}

// hasBody reports whether a call of this method carries its In as a document.
func hasBody(method string) bool { return method == http.MethodPut || method == http.MethodPost }

// target is the call's path and query with the tagged fields of in.
func target(row Row, in any) (string, error) {
	path, query := row.Path, url.Values{}
	v := reflect.ValueOf(in)
	for i := range v.NumField() {
		field, text := v.Type().Field(i), ""
		if v.Field(i).CanInt() {
			text = strconv.FormatInt(v.Field(i).Int(), 10)
		} else if v.Field(i).Kind() == reflect.Bool {
			text = strconv.FormatBool(v.Field(i).Bool())
		} else if v.Field(i).Kind() == reflect.String {
			text = v.Field(i).String()
		}
		if name, ok := field.Tag.Lookup("path"); ok {
			if text == "" {
				return "", fault.New(fault.Invalid, "%s: the %s has no name", row.Name, name)
			}
			path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(text))
		}
		if name, ok := field.Tag.Lookup("query"); ok && !v.Field(i).IsZero() {
			query.Set(name, text)
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return path, nil
}

// set gives a field what stands in the query under its name.
func set(field reflect.Value, name, text string) error {
	switch field.Kind() {
	case reflect.String:
		field.SetString(text)
	case reflect.Bool:
		yes, err := strconv.ParseBool(text)
		if err != nil {
			return fault.New(fault.Invalid, "%s is %q, want true or false", name, document.Short(text))
		}
		field.SetBool(yes)
	default:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fault.New(fault.Invalid, "%s is %q, want a whole number", name, document.Short(text))
		}
		field.SetInt(n)
	}
	return nil
}

// fill sets the tagged fields of in from a request's path and query, and
// refuses a query that the call does not have.
func fill(r *http.Request, in any) error {
	v := reflect.ValueOf(in).Elem()
	known := map[string]bool{}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if name, ok := field.Tag.Lookup("path"); ok {
			v.Field(i).SetString(r.PathValue(name))
		}
		name, ok := field.Tag.Lookup("query")
		if !ok {
			continue
		}
		known[name] = true
		text := r.URL.Query().Get(name)
		if text == "" {
			continue
		}
		if err := set(v.Field(i), name, text); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.URL.Query())) {
		if !known[name] {
			return fault.New(fault.Invalid, "this call has no %q", document.Short(name))
		}
	}
	return nil
}
