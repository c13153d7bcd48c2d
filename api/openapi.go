package api

import (
	"reflect"
	"strings"
	"time"

	"noxmesh/identity"
)

// OpenAPI is the description of the whole table (OpenAPI 3.1), made from the rows and their types.
func OpenAPI() map[string]any {
	s := schemas{defs: map[string]any{}}
	paths := map[string]any{}
	for _, row := range Table() {
		at, ok := paths[row.Path].(map[string]any)
		if !ok {
			at = map[string]any{}
			paths[row.Path] = at
		}
		at[strings.ToLower(row.Method)] = s.operation(row)
	}
	return map[string]any{
		"openapi": "3.1.0",
		"info":    map[string]any{"title": "mesh", "version": "v1", "description": "Continuous delivery to a fleet of Linux machines."},
		"paths":   paths,
		"components": map[string]any{
			"schemas":         s.defs,
			"securitySchemes": map[string]any{"login": map[string]any{"type": "http", "scheme": "bearer"}},
		},
	}
}

type schemas struct{ defs map[string]any }

func (s schemas) operation(row Row) map[string]any {
	op := map[string]any{
		"operationId": row.Name, "summary": row.Summary, "x-role": string(row.Role),
		"responses": map[string]any{
			"200":     map[string]any{"description": "done", "content": content(s.of(row.Out))},
			"default": map[string]any{"description": "what stands against it", "content": content(s.of(reflect.TypeFor[Problem]()))},
		},
	}
	if params := parameters(row.In); len(params) > 0 {
		op["parameters"] = params
	}
	if row.Role != identity.Anyone {
		op["security"] = []any{map[string]any{"login": []any{}}}
	}
	if hasBody(row.Method) && hasFields(row.In) {
		op["requestBody"] = map[string]any{"content": content(s.of(row.In))}
	}
	return op
}

// hasFields reports whether anything of t stands in a document.
func hasFields(t reflect.Type) bool {
	for f := range t.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "-" {
			return true
		}
	}
	return false
}

func content(schema any) map[string]any {
	return map[string]any{"application/json": map[string]any{"schema": schema}}
}

func parameters(in reflect.Type) []any {
	var out []any
	for i := range in.NumField() {
		for _, place := range []string{"path", "query"} {
			if name, ok := in.Field(i).Tag.Lookup(place); ok {
				kind := "integer"
				switch in.Field(i).Type.Kind() { //nolint:exhaustive // what a query can say
				case reflect.String:
					kind = "string"
				case reflect.Bool:
					kind = "boolean"
				}
				out = append(out, map[string]any{"name": name, "in": place, "required": place == "path", "schema": map[string]any{"type": kind}})
			}
		}
	}
	return out
}

// of is the schema of a type; a struct is defined once and referred to.
func (s schemas) of(t reflect.Type) map[string]any {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case t.Kind() == reflect.Pointer:
		return s.of(t.Elem())
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return map[string]any{"type": "string", "contentEncoding": "base64"}
	case t.Kind() == reflect.Slice:
		return map[string]any{"type": "array", "items": s.of(t.Elem())}
	case t.Kind() == reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": s.of(t.Elem())}
	case t.Kind() == reflect.Struct:
		return s.define(t)
	case t.Kind() == reflect.Bool:
		return map[string]any{"type": "boolean"}
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64:
		return map[string]any{"type": "integer"}
	case t.Kind() == reflect.String:
		return map[string]any{"type": "string"}
	}
	return map[string]any{}
}

// SchemaName is what the description calls the schema of a struct.
func SchemaName(t reflect.Type) string { return strings.ReplaceAll(t.String(), ".", "_") }

func (s schemas) define(t reflect.Type) map[string]any {
	name := SchemaName(t)
	ref := map[string]any{"$ref": "#/components/schemas/" + name}
	if _, ok := s.defs[name]; ok {
		return ref
	}
	properties, required := map[string]any{}, []string{}
	s.defs[name] = map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	s.fields(t, properties, &required)
	if len(required) > 0 {
		s.defs[name].(map[string]any)["required"] = required //nolint:forcetypeassert // made three lines above
	}
	return ref
}

func (s schemas) fields(t reflect.Type, properties map[string]any, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			s.fields(f.Type, properties, required)
			continue
		case name == "-" || name == "":
			continue
		}
		properties[name] = s.of(f.Type)
		if !strings.Contains(options, "omit") {
			*required = append(*required, name)
		}
	}
}
