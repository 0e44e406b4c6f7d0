package sema

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/cmd/internal/syntax"
)

// everyForm has each construct of the language, and most of the forms in which documents differ
// from it.
const everyForm = `#define LIMIT 7
const A = 1; const B = A; const int C 3;
enum kind { ONE = 1, TWO = A, THREE };
typedef opaque fixed[LIMIT]; typedef string name<>; typedef row int[2]; typedef string odd[A]; typedef struct { int a; } inner;
struct s { unsigned int a; kind *b; hyper c<B>; s *next; struct { float d; } e; enum { X = 1 } f; opaque g<>; string h<4>; };
union u switch (kind k) { case ONE: case TWO: int a; case THREE: struct s b; default: void; };
union v switch (bool ok) { case TRUE: union switch (int d) { case -1: void; } w; case FALSE: void; };
program P { version V { void NULLP(void) = 0; s F(int, u *) = 1; } = 1; } = 0x20000000;
`

// TestLostTokensHaveFindings compiles everyForm with each token, and each pair of tokens, removed,
// doubled or exchanged. Compile must not panic, and each finding must have a place.
func TestLostTokensHaveFindings(t *testing.T) {
	var pieces []string
	end := 0
	for _, p := range syntax.Pieces(source.NewFile("u.x", []byte(everyForm)), nil) {
		pieces = append(pieces, everyForm[end:p.End])
		end = p.End
	}
	compileText := func(parts ...[]string) {
		text := ""
		for _, part := range parts {
			for _, p := range part {
				text += p
			}
		}
		text += "\n"
		defer func() {
			if p := recover(); p != nil {
				t.Fatalf("panic: %v\n%s", p, text)
			}
		}()
		r, err := Compile(Options{Files: []string{"u.x"}, FS: oneFile{x: []byte(text)}, Plain: true})
		if err != nil {
			t.Fatal(err)
		}
		if (r.Unit == nil) != diag.HasErrors(r.Diags) {
			t.Errorf("unit %v, errors %v: %s", r.Unit != nil, diag.HasErrors(r.Diags), text)
		}
		for _, d := range r.Diags {
			within(t, d, d.Span)
		}
	}
	for i := range pieces {
		compileText(pieces[:i], pieces[i+1:])
		compileText(pieces[:i+1], []string{" "}, pieces[i:])
		if i+2 <= len(pieces) {
			compileText(pieces[:i], pieces[i+2:])
			compileText(pieces[:i], pieces[i+1:i+2], []string{" "}, pieces[i:i+1], pieces[i+2:])
		}
	}
	if len(pieces) < 200 {
		t.Errorf("only %d tokens", len(pieces))
	}
}
