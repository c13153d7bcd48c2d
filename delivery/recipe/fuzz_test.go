package recipe_test

import (
	"strings"
	"testing"

	"noxmesh/delivery/recipe"
)

func seeds() []string {
	return []string{
		"FROM scratch\nCOPY a /b\n",
		"ARG A=b@c\nFROM $A AS x\nFROM X\nCOPY --from=0 [\"a\", \"b\"]\nCMD a $B\n",
		"FROM a AS b\nENV A=$A B ${C:-d}\nWORKDIR ..\nRUN [\"\"]\nLABEL a b\nEXPOSE 1 2/udp\nVOLUME [\"/a\"]\nSHELL [\"x\"]\nENTRYPOINT y\n",
		"FROM a\nARG X\nENV X\nCOPY * ./\nUSER a\nRUN x\n",
	}
}

// FuzzRead: whatever a container file says, it is taken or named by a line, and what
// is taken is carried out.
func FuzzRead(f *testing.F) {
	all := seeds()
	if len(all) != 4 {
		f.Fatal("the seeds are gone")
	}
	for _, s := range all {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := recipe.Read("Containerfile", []byte(text), "linux/amd64", func(string) string { return "" })
		if err != nil {
			if !strings.HasPrefix(err.Error(), "Containerfile:") {
				t.Errorf("no line: %v", err)
			}
			return
		}
		states := map[int]*recipe.State{}
		for _, at := range r.Needed() {
			if stage := r.Stages[at]; stage.Image == "" {
				states[at] = states[stage.Below].On()
			} else if states[at], err = r.Begin([]byte(`{"config": {"Env": ["A=b"], "Cmd": ["x"], "Labels": {"a": "b"}}}`)); err != nil {
				t.Fatal(err)
			}
			err := states[at].Carry(at, func(a recipe.Act) error {
				if !strings.HasPrefix(a.To, "/") || !a.Command && len(a.Words) > 0 && a.From >= at || a.String() == "" && a.To != "" && !a.Command {
					t.Errorf("%+v", a)
				}
				return nil
			})
			if err != nil {
				return
			}
			if _, err := states[at].Says(); err != nil {
				t.Error(err)
			}
		}
	})
}
