package gitserve

import (
	"io"
	"net/http"
	"net/http/cgi" //nolint:gosec // it passes on no Proxy header since Go 1.6.3
	"os/exec"
	"path/filepath"
)

// Handler serves every repository below root at its path. A push is refused.
func Handler(root string) http.Handler {
	git, err := exec.LookPath("git")
	if err != nil {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "git is not installed", http.StatusInternalServerError)
		})
	}
	return &cgi.Handler{
		Path: git,
		Args: []string{"http-backend"},
		Dir:  root,
		Env: []string{
			"PATH=" + filepath.Dir(git) + ":/usr/bin:/bin",
			"HOME=/nonexistent",
			"LANG=C",
			"GIT_PROJECT_ROOT=" + root,
			"GIT_HTTP_EXPORT_ALL=1",
			"GIT_CONFIG_NOSYSTEM=1",
			"GIT_CONFIG_GLOBAL=/dev/null",
			"GIT_CONFIG_COUNT=3",
			"GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
			"GIT_CONFIG_KEY_1=http.receivepack", "GIT_CONFIG_VALUE_1=false",
			"GIT_CONFIG_KEY_2=core.hooksPath", "GIT_CONFIG_VALUE_2=/dev/null",
		},
		Stderr: io.Discard,
	}
}
