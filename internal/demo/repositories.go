package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// make makes the three repositories that the story is about. Where the machine
// has bubblewrap the website has a build step and a test of its own; where it
// has none the website is only files, since no builder would run its commands.
func (s *story) make(ctx context.Context) error {
	all := map[string]map[string]string{"site": s.site(), "dotfiles": dotfiles(), "workstation": {
		"module.json": `{"module": "workstation", "summary": "What a workstation has", "requires": ["dotfiles", "site"]}` + "\n",
	}}
	for name, files := range all {
		if err := s.repository(ctx, name, files); err != nil {
			return err
		}
	}
	return nil
}

func dotfiles() map[string]string {
	return map[string]string{
		"module.json": `{
  "module": "dotfiles",
  "summary": "What every machine of ours says and how its editor behaves",
  "resources": [
    {"id": "motd", "type": "file", "path": "/etc/motd", "content": "This is ${node.name}. It is kept as declared.\n"},
    {"id": "vim", "type": "file", "path": "/etc/vim/vimrc.local", "from": "vimrc"},
    {"id": "bin", "type": "directory", "path": "/opt/bin"},
    {"id": "vi", "type": "link", "path": "/opt/bin/vi", "target": "/usr/bin/vim"}
  ]
}
`,
		"vimrc": "set number\nset expandtab\n",
	}
}

func (s *story) site() map[string]string {
	if !s.sandbox {
		s.sitePage = "public/index.html"
		return map[string]string{
			"module.json": `{
  "module": "site",
  "summary": "A website of two pages",
  "resources": [
    {"id": "pages", "type": "archive", "artifact": "pages", "path": "/opt/site"}
  ],
  "build": {
    "artifacts": {"pages": {"type": "archive", "path": "public"}}
  }
}
`,
			"public/index.html":       "<h1>First edition</h1>\n",
			"public/about/index.html": "<p>Delivered without a pipeline.</p>\n",
		}
	}
	s.sitePage = "pages/index.html"
	return map[string]string{
		"module.json": `{
  "module": "site",
  "summary": "A website of two pages, built and tested",
  "resources": [
    {"id": "pages", "type": "archive", "artifact": "pages", "path": "/opt/site"}
  ],
  "build": {
    "run": [["sh", "build.sh"]],
    "test": [["grep", "-q", "<h1>", "public/index.html"]],
    "artifacts": {"pages": {"type": "archive", "path": "public"}}
  }
}
`,
		"build.sh":         "set -eu\nmkdir -p public/about\ncat pages/index.html footer.html > public/index.html\ncp pages/about.html public/about/index.html\n",
		"footer.html":      "<p>Delivered without a pipeline.</p>\n",
		"pages/index.html": "<h1>First edition</h1>\n",
		"pages/about.html": "<p>About us.</p>\n",
	}
}

// repository makes a bare repository and a work tree that pushes to it.
func (s *story) repository(ctx context.Context, name string, files map[string]string) error {
	bare, work := filepath.Join(s.dir, "repositories", name+".git"), s.work(name)
	if err := os.MkdirAll(work, 0o755); err != nil {
		return err
	}
	if err := s.git(ctx, s.dir, "init", "-q", "--bare", "-b", "main", bare); err != nil {
		return err
	}
	if err := s.git(ctx, s.dir, "clone", "-q", bare, work); err != nil {
		return err
	}
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(work, path)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(work, path), []byte(text), 0o644); err != nil {
			return err
		}
	}
	_, err := s.push(ctx, name, "first edition")
	return err
}

func (s *story) work(name string) string { return filepath.Join(s.dir, "work", name) }

// change writes a file, commits and pushes, and returns the commit.
func (s *story) change(ctx context.Context, name, path, text string) (string, error) {
	if err := os.WriteFile(filepath.Join(s.work(name), path), []byte(text), 0o644); err != nil {
		return "", err
	}
	commit, err := s.push(ctx, name, "change "+path)
	if err == nil {
		fmt.Printf("$ git commit -m 'change %s' && git push     → %s\n", path, commit[:7])
	}
	return commit, err
}

func (s *story) push(ctx context.Context, name, message string) (string, error) {
	for _, args := range [][]string{{"add", "-A"}, {"commit", "-q", "-m", message}, {"push", "-q", "origin", "HEAD:main"}} {
		if err := s.git(ctx, s.work(name), args...); err != nil {
			return "", err
		}
	}
	out, err := s.command(ctx, s.work(name), "git", "rev-parse", "HEAD").Output()
	return strings.TrimSpace(string(out)), err
}

func (s *story) git(ctx context.Context, dir string, args ...string) error {
	cmd := s.command(ctx, dir, "git", append([]string{"-c", "user.name=Demo", "-c", "user.email=demo@example.org", "-c", "init.defaultBranch=main"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

func (s *story) command(ctx context.Context, dir, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	return cmd
}
