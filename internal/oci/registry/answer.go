package registry

import (
	"net/http"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

// refuse answers with the status of err's kind, in the form that registries use.
func refuse(w http.ResponseWriter, err error) {
	switch fault.KindOf(err) {
	case fault.Denied:
		answer(w, http.StatusForbidden, "DENIED", err.Error())
	case fault.Invalid:
		answer(w, http.StatusBadRequest, "NAME_INVALID", err.Error())
	case fault.NotFound:
		answer(w, http.StatusNotFound, "NAME_UNKNOWN", err.Error())
	case fault.Unavailable:
		answer(w, http.StatusServiceUnavailable, "UNAVAILABLE", err.Error())
	case fault.Unknown, fault.Conflict, fault.Broken:
		answer(w, http.StatusInternalServerError, "UNKNOWN", "the registry could not decide")
	}
}

type wrong struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func answer(w http.ResponseWriter, status int, code, message string) {
	b, err := document.Canonical(struct {
		Errors []wrong `json:"errors"`
	}{[]wrong{{code, message}}})
	if err != nil {
		http.Error(w, code, status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b)
}
