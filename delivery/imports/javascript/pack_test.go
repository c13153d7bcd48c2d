package javascript_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"noxmesh/delivery/imports/javascript"
)

// packed is what npm would ship of each of these folders, without what only people
// read, by the package's name.
func packed(t *testing.T, npm string, dirs []string) map[string]string {
	t.Helper()
	cmd := exec.Command(npm, append([]string{"pack", "--dry-run", "--json", "--ignore-scripts", "--offline"}, dirs...)...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "npm_config_update_notifier=false", "npm_config_cache="+t.TempDir())
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("npm pack: %v", err)
	}
	type said struct {
		Name  string
		Files []struct{ Path string }
	}
	var list []said
	if json.Unmarshal(out, &list) != nil {
		byName := map[string]said{} // since npm 11
		if err := json.Unmarshal(out, &byName); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		list = slices.Collect(maps.Values(byName))
	}
	all := map[string]string{}
	for _, one := range list {
		var files []string
		for _, f := range one.Files {
			if !strings.HasSuffix(f.Path, ".md") {
				files = append(files, f.Path)
			}
		}
		slices.Sort(files)
		all[one.Name] = strings.Join(files, " ")
	}
	return all
}

// TestWhatNPMPacks: a package holds what npm would ship of it, by files and by
// each .npmignore.
func TestWhatNPMPacks(t *testing.T) {
	t.Parallel()
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("npm is not installed")
	}
	beside := []string{
		"main.js", "README.md", "lib/index.js", "lib/a.js", "lib/a.d.ts", "lib/in/b.js", "lib/in/b.map", "dist/a/b.js", "dist/c.js", "src/A.ts",
		"node_modules/x/index.js", ".eslintrc.json", ".npmrc", "package-lock.json", "a.orig", "lib/package-lock.json", "docs/x.txt", "docs/y/index.js",
	}
	root, dirs := t.TempDir(), []string(nil)
	for name, c := range map[string]struct {
		says    string
		ignores map[string]string
	}{
		"everything":         {`{}`, map[string]string{".npmignore": ""}},
		"names and folders":  {`{}`, map[string]string{".npmignore": "# what\n*.map\ndocs/\n/main.js\n"}},
		"not all of it":      {`{}`, map[string]string{".npmignore": "*.js\n!index.js\n"}},
		"paths":              {`{}`, map[string]string{".npmignore": "lib/*.ts\ndist/**\n**/in/*.map\nSRC\n"}},
		"one that begins so": {`{}`, map[string]string{".npmignore": "/lib/in\ndist/a/\n"}},
		"braces":             {`{}`, map[string]string{".npmignore": "*.{map,ts}\n"}},
		"in a folder":        {`{}`, map[string]string{".npmignore": "*.map\n", "lib/.npmignore": "a.*\n!a.d.ts\n/in/b.js\n"}},
		"what main names":    {`{"main": "lib/a.js"}`, map[string]string{".npmignore": "lib/a.js\n"}},
		"files":              {`{"files": ["lib", "!lib/in"]}`, map[string]string{".npmignore": "lib\n"}},
		"files and a folder": {`{"files": ["lib"]}`, map[string]string{"lib/.npmignore": "in\n"}},
		"patterns of files":  {`{"files": ["lib/**/*.js", "dist/*"]}`, nil},
		"one file":           {`{"files": ["/main.js", "./docs/x.txt"]}`, nil},
		"files by name":      {`{"files": ["*.ts"]}`, nil},
	} {
		dir := filepath.Join(root, strings.ReplaceAll(name, " ", "-"))
		texts := map[string]string{"package.json": strings.Replace(strings.Replace(c.says, "{", `{"name": "`+filepath.Base(dir)+`", "version": "1.0.0", `, 1), ", }", "}", 1)}
		for _, file := range beside {
			texts[file] = "{}"
		}
		maps.Copy(texts, c.ignores)
		for file, text := range texts {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		dirs = append(dirs, dir)
	}
	want := packed(t, npm, dirs)
	for _, dir := range dirs {
		files, err := javascript.Language{}.Library(os.DirFS(dir))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Join(files, " "), want[filepath.Base(dir)]; got != want {
			t.Errorf("%s: %s\nnpm: %s", filepath.Base(dir), got, want)
		}
	}
}
