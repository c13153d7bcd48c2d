package manifest

import (
	"maps"

	"noxmesh/declaration"
)

// The types of resource that a manifest may have.
const (
	typeFile      = "file"
	typeDirectory = "directory"
	typeLink      = "link"
	typeArchive   = "archive"
	typeContainer = "container"
)

// typeLibrary is what others are built against: an artifact, and no resource.
const typeLibrary = "library"

// typePackage is what a machine's own package manager installs: an artifact, and
// no resource yet.
const typePackage = "package"

// fields is what belongs to a resource of each type besides id, type and path.
// A field that does not belong is refused: it would do nothing. Of several
// names with | between them there is exactly one.
type fields struct {
	source, built []string // must be there
	may           []string
}

func fieldsOf(resourceType string) fields {
	table := map[string]fields{
		typeFile:      {source: []string{"path", "content|from"}, built: []string{"path", "content|digest"}, may: []string{"mode", "size", "owner", "group"}},
		typeDirectory: {source: []string{"path"}, built: []string{"path"}, may: []string{"mode", "owner", "group"}},
		typeLink:      {source: []string{"path", "target"}, built: []string{"path", "target"}, may: []string{"owner", "group"}},
		typeArchive:   {source: []string{"path", "artifact"}, built: []string{"path", "digest"}, may: []string{"owner", "group", "swap"}},
	}
	if resourceType == typeContainer { // whose image the module may make itself
		f, _ := declaration.FieldsOf(declaration.Container)
		return fields{source: []string{"name", "image|artifact"}, built: f.Must, may: f.May}
	}
	if f, ok := table[resourceType]; ok {
		return f
	}
	// What is no file is declared as it stands in the manifest.
	f, _ := declaration.FieldsOf(declaration.Type(resourceType))
	return fields{source: f.Must, built: f.Must, may: f.May}
}

func resourceTypes() []string {
	var types []string
	for _, t := range declaration.Types() {
		types = append(types, string(t))
	}
	return types
}

// typeImage is what containers are made of: an artifact, which a container names.
const typeImage = "image"

// laterKeys are the keys that a manifest of a later version may have.
func laterKeys() map[string]string {
	return map[string]string{"lab": "this version has no lab yet"}
}

// examples is what the values of a manifest look like, for whoever left one out
// or wrote another kind.
func examples() map[string]string {
	all := map[string]string{ //nolint:gosec // nobody's secret
		"":                       `{"module": "board"}`,
		"module":                 `"board"`,
		"summary":                `"What it is, in one line"`,
		"provides":               `["board"]`,
		"provides[]":             `"board" or {"name": "board", "scope": "mesh"}`,
		"provides[].name":        `"board"`,
		"provides[].scope":       `"mesh"`,
		"requires":               `["name-resolution"]`,
		"requires[]":             `"name-resolution"`,
		"instances":              `{"db": {"of": "postgres-database"}}`,
		"instances.*":            `{"of": "postgres-database"}`,
		"instances.*.of":         `"postgres-database"`,
		"instances.*.with":       `{"port": "${settings.port}"}`,
		"grants":                 `{"postgres-database": {"gives": ["url"]}}`,
		"grants.*":               `{"gives": ["url"]}`,
		"grants.*.gives":         `["url"]`,
		"grants.*.gives[]":       `"url"`,
		"grants.*.with":          `{"encoding": {"type": "string", "default": "UTF8"}}`,
		"grants.*.with.*":        `{"type": "string", "default": "UTF8"}`,
		"grants.*.with.*.type":   `"string"`,
		"capabilities":           `["systemd"]`,
		"capabilities[]":         `"systemd"`,
		"claims":                 `["tcp:8080"]`,
		"claims[]":               `"tcp:8080"`,
		"settings":               `{"port": {"type": "integer", "default": 8080}}`,
		"settings.*":             `{"type": "integer", "default": 8080}`,
		"settings.*.type":        `"integer"`,
		"secrets":                `{"db-url": {"says": "the database that it reads"}}`,
		"secrets.*":              `{"says": "the database that it reads"}`,
		"build.in":               `"golang:1.26"`,
		"build.run":              `[["make", "site"]]`,
		"build.run[]":            `["make", "site"]`,
		"build.test":             `[["make", "test"]]`,
		"build.test[]":           `["make", "test"]`,
		"build.artifacts":        `{"site": {"type": "archive", "path": "dist"}}`,
		"build.network":          `true`,
		"build.limits":           `{"memory": "4GiB", "time": "20m"}`,
		"build.limits.memory":    `"512MiB"`,
		"build.limits.disk":      `"4GiB"`,
		"build.limits.processes": `512`,
		"build.limits.time":      `"20m"`,
	}
	maps.Copy(all, resourceExamples())
	maps.Copy(all, artifactExamples())
	return all
}

func resourceExamples() map[string]string {
	return map[string]string{
		"resources":              `[{"id": "data", "type": "directory", "path": "/srv/data"}]`,
		"resources[]":            `{"id": "data", "type": "directory", "path": "/srv/data"}`,
		"resources[].id":         `"data"`,
		"resources[].type":       `"directory"`,
		"resources[].path":       `"/srv/data"`,
		"resources[].mode":       `"0644"`,
		"resources[].after":      `["data"]`,
		"resources[].owner":      `"board"`,
		"resources[].swap":       `true`,
		"resources[].group":      `"board"`,
		"resources[].name":       `"board"`,
		"resources[].uid":        `712`,
		"resources[].gid":        `712`,
		"resources[].groups":     `["ssl-cert"]`,
		"resources[].unit":       `"board.service"`,
		"resources[].version":    `"1.22.1-9"`,
		"resources[].conffiles":  `"keep"`,
		"resources[].value":      `"1"`,
		"resources[].source":     `"UUID=0a1b2c3d-0000-0000-0000-000000000000"`,
		"resources[].fstype":     `"ext4"`,
		"resources[].options":    `"noatime,nofail"`,
		"resources[].http":       `"http://127.0.0.1:8080/healthz"`,
		"resources[].status":     `200`,
		"resources[].tcp":        `"127.0.0.1:5432"`,
		"resources[].dns":        `"db.example.org"`,
		"resources[].file":       `"/run/board/ready"`,
		"resources[].state":      `"running"`,
		"resources[].restart_on": `["conf"]`,
		"resources[].image":      `"docker.io/library/nginx@sha256:0123…"`,
		"resources[].env":        `{"PORT": "80"}`,
		"resources[].ports":      `["8080:80"]`,
		"resources[].volumes":    `["/srv/data:/data"]`,
		"resources[].user":       `"1000:1000"`,
	}
}
