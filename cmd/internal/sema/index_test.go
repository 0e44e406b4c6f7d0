package sema

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheIndexHasEachUse(t *testing.T) {
	fs := oneFile{[]byte(`const A = 1;
const B = (A + 2);
enum e { E1 = A, E2 };
typedef opaque t<B>;
union n switch (e kind) { case E1: t a; default: void; };
program P { version V { n F(t) = A; } = 1; } = 2;
`), []byte("code flag A void\n")}
	r, err := Compile(Options{Files: []string{"u.x"}, FS: fs, Index: true})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, u := range r.Index.Uses {
		p, name := u.At.Position(), u.Decl.Name
		if u.Member != nil {
			name = u.Member.Name
		}
		got = append(got, fmt.Sprintf("%s:%d:%d %s=%s", u.At.File.Base(), p.Line, p.Column, u.At.Text(), name))
	}
	want := []string{
		"u.x:2:12 A=A", "u.x:3:15 A=A", "u.x:4:18 B=B",
		"u.x:5:17 e=e", "u.x:5:32 E1=E1", "u.x:5:36 t=t",
		"u.x:6:25 n=n", "u.x:6:29 t=t", "u.x:6:34 A=A",
		"u.bind:1:11 A=A",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("uses (-want +got):\n%s", diff)
	}
}
