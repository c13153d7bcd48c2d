package golang

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
)

// Standard is each name that standard takes for the library's, but "C".
func Standard() (names []string) {
	file, err := parser.ParseFile(token.NewFileSet(), "standard.go", nil, 0)
	if err != nil {
		panic(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok {
			if name, _ := strconv.Unquote(lit.Value); name != "C" {
				names = append(names, name)
			}
		}
		return true
	})
	return names
}
