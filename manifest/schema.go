package manifest

import (
	"maps"
	"slices"
	"strings"

	"noxmesh/declaration"
	"noxmesh/document"
)

// SourceSchema is the JSON Schema of module.json, by which an editor completes
// it. It refuses nothing that DecodeSource takes.
func SourceSchema() ([]byte, error) {
	f := sourceForm()
	f.Keywords = sourceKeywords()
	return f.Schema()
}

// BuiltSchema is the JSON Schema of the built manifest.
func BuiltSchema() ([]byte, error) {
	f := builtForm()
	f.Keywords = commonKeywords()
	return f.Schema()
}

type keywords = document.Keywords

// The patterns are those of the decoder, as far as a schema can say them.
const (
	patternName    = `^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`
	patternSetting = `^[a-z]([a-z0-9_-]{0,61}[a-z0-9])?$`
	patternLine    = `^[^\x00-\x1f\x7f-\x9f]*$`
	patternClaim   = `^((tcp|udp):([1-9][0-9]{0,4}|[0-9]*\$\{.*)|name:([a-z0-9-]+|[a-z0-9-]*\$\{.*))$`
	patternPath    = `^/.*[^/]$`
	patternUnclean = `//|/\.\.?(/|$)`
	patternAccount = `^([a-z_][a-z0-9_-]{0,31}|.*\$\{.*)?$`
	patternOwner   = `^([A-Za-z_][A-Za-z0-9_.-]{0,31}|0|[1-9][0-9]{0,9}|.*\$\{.*)?$`
	patternCalled  = `^([a-z_][a-z0-9_-]{0,31}|[A-Za-z0-9][A-Za-z0-9+._-]*(:[a-z][a-z0-9_-]*)?|[A-Za-z0-9_]+[./].*|.*\$\{.*)?$` // a user, a group, a package, a sysctl or a container
	patternVersion = `^([A-Za-z0-9][A-Za-z0-9.+~:_^-]*|.*\$\{.*)?$`
	patternUnit    = `^([A-Za-z0-9:_\\@][A-Za-z0-9:_.\\@-]*\.(service|socket|timer|path)|.*\$\{.*)?$`
	patternImage   = `^([A-Za-z0-9.:\[\]-]+(/[a-z0-9._-]+)+@sha256:[0-9a-f]{64})?$`
	patternPort    = `^((([0-9.]+|\[[0-9a-f:.]+\]):)?[0-9]{1,5}:[0-9]{1,5}(/udp)?|.*\$\{.*)$`
	patternVolume  = `^(/[^:]+:/[^:]+(:ro)?|.*\$\{.*)$`
	patternRunsAs  = `^([A-Za-z0-9_.][A-Za-z0-9_.-]*(:[A-Za-z0-9_.][A-Za-z0-9_.-]*)?|.*\$\{.*)?$`
	patternAsked   = `^([A-Za-z0-9][A-Za-z0-9_.-]{0,62}|[A-Za-z0-9_.-]*\$\{.*)$` // a command that a check runs
	patternField   = `^(/[^: ]*[^/: ]|.*\$\{.*)?$`
)

func name() keywords { return keywords{"pattern": patternName} }

func nameList() keywords { return keywords{"uniqueItems": true, "maxItems": listLimit} }

func line() keywords { return keywords{"maxLength": saysLimit, "pattern": patternLine} }

func named(pattern string) keywords {
	return keywords{"propertyNames": keywords{"pattern": pattern}, "maxProperties": listLimit}
}

// oneValue is what stands where a setting has a value.
func oneValue() keywords {
	const largest = 1 << 53
	return keywords{"type": []string{"string", "integer", "boolean"}, "minimum": -largest, "maximum": largest}
}

// relative is a path below the module's folder.
func relative(itself bool) keywords {
	inside := keywords{"pattern": `^([^/].*)?$`, "not": keywords{"pattern": `^\.\.?(/|$)|//|/\.\.?(/|$)|/$`}}
	if !itself {
		return inside
	}
	return keywords{"anyOf": []any{inside, keywords{"const": "."}}}
}

// settingKeywords is what the settings at this path are.
func settingKeywords(path string) map[string]keywords {
	rules := []any{}
	for _, t := range []string{StringSetting, IntegerSetting, BooleanSetting} {
		rules = append(rules, keywords{
			"if":   keywords{"properties": keywords{"type": keywords{"const": t}}},
			"then": keywords{"properties": keywords{"default": keywords{"type": t}}},
		})
	}
	value := oneValue()
	value["maxLength"] = saysLimit
	return map[string]keywords{
		path:                {"propertyNames": keywords{"pattern": patternSetting}},
		path + ".*":         {"allOf": rules},
		path + ".*.type":    {"enum": []string{StringSetting, IntegerSetting, BooleanSetting}},
		path + ".*.default": value,
		path + ".*.says":    line(),
	}
}

// commonKeywords is what the two forms of a manifest share.
func commonKeywords() map[string]keywords {
	out := map[string]keywords{
		"module": name(), "summary": line(),
		"provides": nameList(), "provides[]#string": name(), "provides[].name": name(),
		"provides[].scope": {"enum": []string{nodeScope, string(MeshScope), ""}},
		"requires":         nameList(), "requires[]": name(),
		"instances": named(patternName), "instances.*.of": name(),
		"instances.*.with": {"propertyNames": keywords{"pattern": patternSetting}}, "instances.*.with.*": oneValue(),
		"grants": named(patternName), "grants.*.says": line(), "grants.*.gives": nameList(), "grants.*.gives[]": name(),
		"claims": nameList(), "claims[]": {"pattern": patternClaim},
		"capabilities": nameList(), "capabilities[]": name(),
		"resources[].id":    name(),
		"resources[].type":  {"enum": resourceTypes()},
		"resources[].path":  {"pattern": patternPath + "|^$", "not": keywords{"pattern": patternUnclean}},
		"resources[].after": nameList(), "resources[].after[]": name(),
		"resources[].drift": {"enum": []string{string(declaration.DriftCorrect), string(declaration.DriftReport), ""}},
		"resources[].name":  {"pattern": patternCalled}, "resources[].group": {"pattern": patternOwner}, "resources[].owner": {"pattern": patternOwner},
		"resources[].groups": nameList(), "resources[].groups[]": {"pattern": patternAccount},
		"resources[].gid": {"minimum": 0, "maximum": 1<<32 - 3}, "resources[].uid": {"minimum": 0, "maximum": 1<<32 - 3},
		"resources[].unit": {"pattern": patternUnit}, "resources[].state": {"enum": []string{declaration.Running, declaration.Stopped, ""}},
		"resources[].restart_on": nameList(), "resources[].restart_on[]": name(),
		"resources[].home": {"pattern": patternField}, "resources[].shell": {"pattern": patternField},
		"resources[].version": {"pattern": patternVersion}, "resources[].conffiles": {"enum": []string{string(declaration.ConffilesKeep), string(declaration.ConffilesReplace), ""}},
		"resources[].http": {"maxLength": 2000, "pattern": `^(https?://[^\x00-\x20#]+|.*\$\{.*)?$`}, "resources[].status": {"minimum": 0, "maximum": 599},
		"resources[].tcp": {"maxLength": 2000}, "resources[].dns": {"pattern": `^([A-Za-z0-9_.-]{1,253}|.*\$\{.*)?$`}, "resources[].file": {"pattern": patternPath + `|^$|\$\{`},
		"resources[].source": {"maxLength": 1000}, "resources[].fstype": {"maxLength": 64}, "resources[].options": {"maxLength": 1000},
		"resources[].value": {"maxLength": declaration.ValueLimit, "pattern": `^[^\x00-\x08\x0a-\x1f\x7f]*$`},
		"resources[].image": {"pattern": patternImage}, "resources[].user": {"pattern": patternRunsAs},
		"resources[].ports[]": {"pattern": patternPort}, "resources[].volumes[]": {"pattern": patternVolume},
		"resources[].command": {"type": []string{"array", "string"}, "items": keywords{"type": "string"}},
		"resources[].env":     {"propertyNames": keywords{"pattern": variable.String()}},
		"resources[].mode":    {"pattern": octalMode.String() + "|^$"},
	}
	maps.Copy(out, settingKeywords("settings"))
	out["secrets"], out["secrets.*.says"] = named(patternSetting), line()
	maps.Copy(out, settingKeywords("grants.*.with"))
	return out
}

func sourceKeywords() map[string]keywords {
	out := commonKeywords()
	maps.Copy(out, map[string]keywords{
		"resources[]":                 {"allOf": resourceRules()},
		"resources[].content":         {"maxLength": ContentLimit},
		"resources[].from":            relative(false),
		"build.run[]":                 command(),
		"build.test[]":                command(),
		"build.artifacts":             {"propertyNames": keywords{"pattern": patternName}},
		"build.artifacts.*":           {"allOf": artifactRules()},
		"build.artifacts.*.type":      {"enum": artifactTypes()},
		"build.artifacts.*.path":      relative(true),
		"build.artifacts.*.file":      relative(false),
		"build.artifacts.*.language":  {"pattern": patternName + "|^$"},
		"build.artifacts.*.name":      {"pattern": packageName.String() + "|^$"},
		"build.artifacts.*.version":   {"pattern": packageVersion.String() + "|^$"},
		"build.artifacts.*.depends":   nameList(),
		"build.artifacts.*.command":   command(),
		"build.artifacts.*.env":       {"propertyNames": keywords{"pattern": variable.String()}},
		"build.artifacts.*.depends[]": {"pattern": packageNeed.String()},
		"build.limits.memory":         {"pattern": sizeText.String() + "|^$"},
		"build.limits.disk":           {"pattern": sizeText.String() + "|^$"},
		"build.limits.time":           {"pattern": timeText.String() + "|^$"},
		"build.limits.processes":      {"minimum": 0, "maximum": mostProcesses},
	})
	for _, k := range Keys() {
		path := strings.ReplaceAll(k.Path, "NAME", "*")
		if out[path] == nil {
			out[path] = keywords{}
		}
		out[path]["description"] = strings.ReplaceAll(k.Means, "`", "")
	}
	return out
}

// artifactRules is which keys belong to an artifact of each type.
func artifactRules() []any {
	rules := make([]any, 0, len(artifactTypes()))
	for _, t := range artifactTypes() {
		f, _ := artifactFieldsOf(t)
		properties := keywords{}
		for _, key := range artifactKeys() {
			switch {
			case slices.Contains(f.must, key):
				properties[key] = keywords{"minLength": 1}
			case slices.Contains(f.may, key):
			case key == "depends" || key == "command" || key == "env":
				properties[key] = false
			default:
				properties[key] = none()
			}
		}
		then := keywords{"required": f.must, "properties": properties}
		if t == typeImage {
			then["anyOf"] = []any{imageOf("path"), imageOf("file", "base", "at", "command", "env")}
		}
		rules = append(rules, keywords{
			"if":   keywords{"properties": keywords{"type": keywords{"const": t}}, "required": []string{"type"}},
			"then": then,
		})
	}
	return rules
}

// imageOf is an image that is made of what this key names, and says none of the others.
func imageOf(key string, none ...string) keywords {
	properties := keywords{key: keywords{"minLength": 1}}
	for _, other := range none {
		properties[other] = false
	}
	if key == "path" {
		properties["file"] = keywords{"maxLength": 0}
	}
	return keywords{"required": []string{key}, "properties": properties}
}

// command is the program and its words.
func command() keywords {
	return keywords{"minItems": 1, "prefixItems": []any{keywords{"type": "string", "minLength": 1, "pattern": `^[^\x00]*$`}}, "items": keywords{"type": "string", "pattern": `^[^\x00]*$`}}
}

// there is that a key is there and says something; an empty content does.
func there(name string) keywords {
	out := keywords{"required": []string{name}}
	switch name {
	case "content":
	case "command": // which is a list elsewhere
		out["properties"] = keywords{name: keywords{"minLength": 1, "minItems": 1}}
	default:
		out["properties"] = keywords{name: keywords{"minLength": 1}}
	}
	return out
}

// none is a key that says nothing.
func none() keywords { return keywords{"maxLength": 0} }

// resourceRules is which keys belong to a resource of each type.
func resourceRules() []any {
	rules := make([]any, 0, len(resourceTypes()))
	for _, t := range resourceTypes() {
		f := fieldsOf(t)
		rules = append(rules, keywords{"if": keywords{"properties": keywords{"type": keywords{"const": t}}, "required": []string{"type"}}, "then": keysOf(f)})
	}
	return rules
}

// keysOf is which keys belong to a resource of one type.
func keysOf(f fields) keywords {
	belongs, must := slices.Clone(f.may), []any{}
	for _, choices := range f.source {
		names := strings.Split(choices, "|")
		belongs = append(belongs, names...)
		must = append(must, exactlyOne(names))
	}
	properties := onlyThese(belongs)
	if form, ok := commandOf(f); ok {
		properties["command"] = form
	}
	then := keywords{"properties": properties}
	if len(must) > 0 {
		then["allOf"] = must
	}
	return then
}

// commandOf is how a resource with these fields says what it runs: a check by a name,
// and a container by words. The other form says nothing.
func commandOf(f fields) (form keywords, ok bool) {
	if slices.Contains(f.may, "command") {
		return keywords{"maxLength": 0}, true
	}
	asks := slices.ContainsFunc(f.source, func(choices string) bool { return slices.Contains(strings.Split(choices, "|"), "command") })
	return keywords{"maxItems": 0, "pattern": patternAsked + "|^$"}, asks
}

func exactlyOne(names []string) keywords {
	var one []any
	for _, name := range names {
		one = append(one, there(name))
	}
	return keywords{"oneOf": one}
}

// onlyThese is that of the keys which depend on the type no others say anything.
func onlyThese(names []string) keywords {
	out := keywords{}
	for _, name := range fieldNames() {
		if !slices.Contains(names, name) {
			out[name] = nothing(name)
		}
	}
	delete(out, "digest") // of the other form
	delete(out, "size")
	return out
}

// nothing is a key that says nothing, by what kind of value it has.
func nothing(name string) any {
	switch name {
	case "content": // what is empty there is an empty file
		return false
	case "gid", "uid", "status":
		return keywords{"const": 0}
	case "enabled":
		return false
	case "swap":
		return keywords{"const": false}
	case "env":
		return keywords{"maxProperties": 0}
	case "command":
		return keywords{"maxItems": 0, "maxLength": 0}
	case "groups", "restart_on", "ports", "volumes":
		return keywords{"maxItems": 0}
	}
	return none()
}
