package sema

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// threeUnits is a file system with a base, an extension of any text, and a unit that includes both.
type threeUnits struct{ ext, extBind, x, bind []byte }

func (f threeUnits) ReadFile(name string) ([]byte, error) {
	switch filepath.Base(name) {
	case "base.x":
		return []byte(amendBase), nil
	case "ext.x":
		return f.ext, nil
	case "ext.bind":
		return f.extBind, nil
	case "u.x":
		return f.x, nil
	case "u.bind":
		return f.bind, nil
	}
	return nil, fs.ErrNotExist
}

// ReadDir returns the .x file of a unit's folder, by reading a real folder with that name.
func (f threeUnits) ReadDir(name string) ([]os.DirEntry, error) {
	return os.ReadDir(filepath.Join("testdata/units", filepath.Base(name)))
}

// FuzzAmend compiles an extension with any text, and a unit on top with any text. If there is no
// error, no type of the unit refers to an included type that the unit has copied.
func FuzzAmend(f *testing.F) {
	head := "#include \"ext/ext.x\"\n#include \"base/base.x\"\n"
	f.Add([]byte(amendExt), []byte(amendLines), []byte(head+"OP_D = 4;\ncase OP_D: args all;\n"), []byte("amend op\namend argop\n"))
	f.Add([]byte(amendExt), []byte(amendLines), []byte(head+"struct user { args a; };\n"), []byte(""))
	f.Add([]byte("#include \"base/base.x\"\nenum op { OP_A = 1, OP_B = 2, OP_C = 3 };\n"), []byte("replace op"), []byte(head+"case OP_C: void;"), []byte("amend resop\namend op"))
	f.Add([]byte("#include \"base/base.x\"\nstruct apart { int x; argop y; };\nconst OP_C = 7;\n"), []byte("replace apart\namend op OP_C"), []byte(head+"/* argop */ case OP_C: apart q; default: void;"), []byte("amend argop"))
	f.Add([]byte("#include \"base/base.x\"\nprogram P { version V { void M(apart) = 2; } = 1; } = 300000;\n"), []byte("amend P"), []byte(head+"typedef argop *apart;"), []byte("replace apart\nreplace args"))
	f.Add([]byte("enum op { OP_A = 2, OP_E = 5 };\nstruct apart { hyper z; };\nunion argop switch (op o) { case OP_A: apart a; case OP_E: void; };\n"), []byte(""),
		[]byte(head+"OP_C = 3;\ncase OP_C: apart c;\nstruct own { apart a; op o; opaque n[OP_A]; };\n"), []byte("from base op argop\nfrom ext apart OP_A\namend op\namend argop\n"))
	f.Add([]byte("#include \"base/base.x\"\nOP_C = 3;\ncase OP_C: void;\n"), []byte("amend op\namend argop"), []byte(head+"version W { void N(void) = 0; } = 2;\nunion resop switch (op o) { case OP_A: A_res a; case OP_C: void; };\n"), []byte("from ext op\namend resop\namend P"))
	f.Fuzz(func(t *testing.T, ext, extBind, x, bind []byte) {
		r, err := Compile(Options{Files: []string{"u/u.x"}, Include: []string{"."}, FS: threeUnits{ext, extBind, x, bind}, Stubs: true})
		if err != nil {
			if strings.Contains(err.Error(), "testdata") {
				t.Fatal(err)
			}
			return
		}
		checkResult(t, r)
		if r.Unit != nil {
			consistent(t, r.Unit)
		}
	})
}

// consistent checks that a unit does not refer to an original if it has a copy.
func consistent(t *testing.T, u *ir.Unit) {
	t.Helper()
	copied := map[*ir.Decl]*ir.Decl{}
	for _, d := range u.Decls {
		if d.Of != nil {
			copied[d.Original()] = d
		}
	}
	for _, d := range u.Decls {
		for use := range d.Types() {
			r := use.Type.Ref
			if r == nil {
				continue
			}
			if c := copied[r.Original()]; c != nil && c != r {
				t.Errorf("%s refers to %s of %v, and the unit has a copy", d.Name, r.Name, r.Import)
			}
		}
	}
}
