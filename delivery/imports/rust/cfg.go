package rust

import "strings"

// truth is whether a condition holds. Of a feature, or of a flag that somebody may
// pass to the compiler, it cannot be told here.
type truth int8

const (
	no truth = iota
	perhaps
	yes
)

// conditions is what is known of what is built.
type conditions struct {
	system, machine string // linux, amd64
	test            truth
}

// cfg is whether the condition in tokens holds: all(…), any(…), not(…), a name, or a
// name with a value.
func (c conditions) cfg(tokens []token) truth {
	return c.nested(tokens, 0)
}

func (c conditions) nested(tokens []token, depth int) truth {
	if len(tokens) == 0 || depth > maxNested {
		return perhaps
	}
	name := tokens[0].text
	switch {
	case len(tokens) >= 3 && tokens[1].text == "=":
		return c.equals(name, tokens[2].text)
	case len(tokens) >= 3 && tokens[1].kind == opens:
		return c.combined(name, tokens[2:len(tokens)-1], depth+1)
	}
	switch name {
	case "true":
		return yes
	case "false":
		return no
	case "test":
		return c.test
	case "doc", "doctest":
		return no
	}
	return c.flag(name)
}

func (c conditions) flag(name string) truth {
	switch name {
	case "unix":
		return either(c.system != "windows" && c.system != "wasip1" && c.system != "js")
	case "windows":
		return either(c.system == "windows")
	}
	return perhaps
}

// combined is all, any or not of some conditions.
func (c conditions) combined(name string, tokens []token, depth int) truth {
	all, some := yes, no
	for _, part := range commas(tokens) {
		one := c.nested(part, depth)
		all, some = min(all, one), max(some, one)
	}
	switch name {
	case "all":
		return all
	case "any":
		return some
	case "not":
		return yes - all
	}
	return perhaps
}

func (c conditions) equals(name, value string) truth {
	switch name {
	case "target_os":
		system := c.system
		if system == "darwin" {
			system = "macos"
		}
		return either(value == system)
	case "target_family":
		switch value {
		case "unix", "windows":
			return c.flag(value)
		}
		return either(value == "wasm" && strings.HasPrefix(c.machine, "wasm"))
	case "target_arch":
		return either(value == architecture(c.machine))
	case "target_pointer_width":
		return either(value == width(c.machine))
	case "target_endian":
		return either((value == "big") == (c.machine == "s390x" || c.machine == "ppc64"))
	}
	return perhaps
}

func either(is bool) truth {
	if is {
		return yes
	}
	return no
}

// architecture is what Rust calls a machine.
func architecture(machine string) string {
	switch machine {
	case "amd64":
		return "x86_64"
	case "arm64":
		return "aarch64"
	case "386":
		return "x86"
	case "ppc64le", "ppc64":
		return "powerpc64"
	}
	return machine
}

func width(machine string) string {
	switch machine {
	case "386", "arm", "mips", "wasm32":
		return "32"
	}
	return "64"
}

// commas is the parts of a list that are parted by commas.
func commas(tokens []token) [][]token {
	var parts [][]token
	from, depth := 0, 0
	for i, t := range tokens {
		switch {
		case t.kind == opens:
			depth++
		case t.kind == closes:
			depth--
		case depth == 0 && t.text == "," && t.kind == punct:
			parts = append(parts, tokens[from:i])
			from = i + 1
		}
	}
	if from < len(tokens) {
		parts = append(parts, tokens[from:])
	}
	return parts
}

// target is whether a key of [target] in a manifest holds: cfg(…), or a triple.
func (c conditions) target(key string) truth {
	if inside, ok := strings.CutPrefix(key, "cfg("); ok {
		tokens, w := lex(strings.TrimSuffix(inside, ")"))
		if w != nil {
			return perhaps
		}
		return c.cfg(tokens)
	}
	parts := strings.Split(key, "-")
	if len(parts) < 3 {
		return perhaps
	}
	return min(either(parts[0] == architecture(c.machine) || parts[0] != "x86_64" && parts[0] != "aarch64"),
		either(strings.Contains(key, c.system)))
}
