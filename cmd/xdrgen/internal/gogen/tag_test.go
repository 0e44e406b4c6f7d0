package gogen

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
)

// tagged returns the fields with tags of the package generated for a text, without comments.
func tagged(t *testing.T, text string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "u.x")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := sema.Compile(sema.Options{Files: []string{file}})
	if err != nil || r.Unit == nil {
		t.Fatal(err, r.Diags)
	}
	files, diags, err := Generate(r.Unit, r.Bind, Options{Package: "u"})
	if err != nil || len(diags) > 0 {
		t.Fatal(err, diags)
	}
	var out []string
	for l := range strings.SplitSeq(string(files[0].Content), "\n") {
		if i := strings.LastIndexByte(l, '`'); i > 0 {
			out = append(out, strings.Join(strings.Fields(l[:i+1]), " "))
		}
	}
	return out
}

func TestFieldsHaveTheirTags(t *testing.T) {
	got := tagged(t, `
typedef string name<8>;
typedef name names<>;
struct group { name text; struct group *next; };
typedef group *groups;
struct pair { int left; string right<>; struct pair *next; };
struct host { groups all; host *rest; };
struct all {
	opaque data<>; string text<>; name named; names many[2]; name *maybe;
	groups mine; groups *perhaps; groups each<>; pair *pairs; host *hosts; opaque fixed[4];
};
enum kind { ONE = 1, MINUS = -1 };
union by_kind switch (kind k) { case ONE: name n; case MINUS: void; };
union by_bool switch (bool ok) { case TRUE: int a; case FALSE: void; };
union by_uint switch (unsigned u) { case 4294967295: case 0: int a; default: void; };
struct large { opaque a[200]; };
union big switch (int i) { case 0: void; default: large l; };
struct holder { big each<>; };
`)
	want := []string{
		"Left int32 `xdr:\"left\"`",
		"Right xdr.String `xdr:\"right,string\"`",
		"Data []byte `xdr:\"data\"`",
		"Text xdr.String `xdr:\"text,string\"`",
		"Named Name `xdr:\"named,string\"`",
		"Many [2]Names `xdr:\"many,string\"`",
		"Maybe xdr.Optional[Name] `xdr:\"maybe,string\"`",
		"Mine Groups `xdr:\"mine,node=0:text,string\"`",
		"Perhaps xdr.Optional[Groups] `xdr:\"perhaps,node=0:text,string\"`",
		"Each []Groups `xdr:\"each,node=1:text,string\"`",
		"Pairs []Pair `xdr:\"pairs\"`",
		"Hosts []Groups `xdr:\"hosts,node=0:all,node=1:text,string\"`",
		"Fixed [4]byte `xdr:\"fixed\"`",
		"K Kind `xdr:\"k,switch,case=-1\"`",
		"N Name `xdr:\"n,case=1,string\"`",
		"OK bool `xdr:\"ok,switch,case=0\"`",
		"A int32 `xdr:\"a,case=1\"`",
		"U uint32 `xdr:\"u,switch,default\"`",
		"A int32 `xdr:\"a,case=4294967295,case=0\"`",
		"A [200]byte `xdr:\"a\"`",
		"I int32 `xdr:\"i,switch,case=0\"`",
		"L *Large `xdr:\"l,default,pointer\"`",
		"Each []Big `xdr:\"each\"`",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestTagLength makes the tags of lists in 80 lists. Their length must be bounded.
func TestTagLength(t *testing.T) {
	var b strings.Builder
	b.WriteString("typedef int l0;\n")
	for i := 1; i <= 80; i++ {
		fmt.Fprintf(&b, "struct n%d { l%d v; n%d *next; };\ntypedef n%d *l%d;\n", i, i-1, i, i, i)
	}
	got := tagged(t, b.String()+"struct s { l40 a; l80 b; int c; };\n")
	if len(got) != 3 || strings.Count(got[0], "node=") != 40 || strings.Count(got[1], "node=") != maxAround {
		t.Errorf("tags %q", got)
	}
}
