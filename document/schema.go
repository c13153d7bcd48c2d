package document

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"noxmesh/internal/fault"
)

// Keywords is what a JSON Schema says of a value beside its type.
type Keywords map[string]any

// Schema is the JSON Schema (2020-12) of the form, as its Go type and its
// keywords say it. It takes whatever Decode takes; what only Check sees, and
// what stands in the text alone, it does not refuse.
func (f Form[T]) Schema() ([]byte, error) {
	root := schemer{f.Keywords}.of(reflect.TypeFor[T](), "", 0)
	root["$schema"], root["title"] = "https://json-schema.org/draft/2020-12/schema", f.Name
	b, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fault.Wrap(fault.Broken, err, "write the schema of the %s", f.Name)
	}
	return append(b, '\n'), nil
}

// A schemer makes the schema of each value by its type and by where it stands:
// "resources[].mode", "settings.*.type".
type schemer struct{ keywords map[string]Keywords }

func (s schemer) of(t reflect.Type, path string, depth int) Keywords {
	out := s.typed(t, path, depth)
	maps.Copy(out, s.keywords[path])
	return out
}

func (s schemer) typed(t reflect.Type, path string, depth int) Keywords {
	if t.Kind() == reflect.Pointer {
		return s.typed(t.Elem(), path, depth)
	}
	switch self := selfOf(t); {
	case self == selfBrief:
		return Keywords{"anyOf": []any{s.of(reflect.TypeFor[string](), path+"#string", depth), s.object(wholeOf(t), path, depth)}}
	case self == selfText:
		return Keywords{"type": "string"}
	case self == selfJSON || depth > 16: // only the type itself knows
		return Keywords{}
	}
	switch t.Kind() {
	case reflect.Struct:
		return s.object(t, path, depth)
	case reflect.Map:
		return Keywords{"type": "object", "additionalProperties": s.of(t.Elem(), strings.TrimPrefix(path+".*", "."), depth+1)}
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return Keywords{"type": "string", "contentEncoding": "base64"}
		}
		return Keywords{"type": "array", "items": s.of(t.Elem(), path+"[]", depth+1)}
	case reflect.String:
		return Keywords{"type": "string"}
	case reflect.Bool:
		return Keywords{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return Keywords{"type": "number"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return Keywords{"type": "integer", "minimum": -integerLimit, "maximum": integerLimit}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return Keywords{"type": "integer", "minimum": 0, "maximum": integerLimit}
	default:
		return Keywords{}
	}
}

func (s schemer) object(t reflect.Type, path string, depth int) Keywords {
	shape := shapeOf(t)
	properties, required := Keywords{}, []string{}
	for _, name := range shape.names {
		f := shape.fields[name]
		value := s.of(f.goType, strings.TrimPrefix(path+"."+name, "."), depth+1)
		if f.required && mayBeNull(f.goType) {
			value = Keywords{"anyOf": []any{value, Keywords{"type": "null"}}}
		}
		properties[name] = value
		if f.required {
			required = append(required, name)
		}
	}
	out := Keywords{"type": "object", "properties": properties}
	if !shape.open {
		out["additionalProperties"] = false
	}
	if len(required) > 0 {
		out["required"] = slices.Sorted(slices.Values(required))
	}
	return out
}
