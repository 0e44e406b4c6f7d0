package gonames

import (
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// FuzzNames names an enum and a struct with any members and fields. All names are Go names, no two
// enumerators are equal unless it is reported, and no enum has more words than its members had.
func FuzzNames(f *testing.F) {
	for _, seed := range []string{
		"nfsstat NFS_OK NFSERR_IO", "createmode4 UNCHECKED4 EXCLUSIVE4_1", "gf1_cli_op_flags GF_CLI_FLAG_OP_FORCE",
		"mountstat3 MNT_OK MNT3ERR_IO", "CREATE_SESSION4args csa_flags csa_id", "_t _ __ _1", "a a_ A _a", "x_t 1 2", "e_4 _4 A4 4_4",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		names := strings.FieldsFunc(text, func(r rune) bool {
			return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
		})
		if len(names) < 2 {
			return
		}
		slices.Sort(names[1:])
		names = slices.Concat(names[:1], slices.Compact(names[1:]))
		file := source.NewFile("f.x", []byte(text))
		pos := source.Span{File: file, End: len(text)}
		enum := &ir.Decl{Kind: ir.Enum, Name: names[0], Pos: pos}
		record := &ir.Decl{Kind: ir.Struct, Name: names[0] + "_args", Pos: pos}
		for i, name := range names[1:] {
			enum.Members = append(enum.Members, &ir.Member{Name: name, Value: int32(i), Pos: pos})
			record.Fields = append(record.Fields, &ir.Field{Name: name, Pos: pos})
		}
		n := New()
		diags := n.Add([]*ir.Decl{enum, record}, nil, true)
		used := map[string]bool{}
		for i, m := range enum.Members {
			for _, g := range []string{n.Member(m), n.Field(record.Fields[i])} {
				if !token.IsIdentifier(g) || !token.IsExported(g) {
					t.Errorf("%s becomes %q", m.Name, g)
				}
			}
			if used[n.Member(m)] && len(diags) == 0 {
				t.Errorf("two are %s, and it is not reported", n.Member(m))
			}
			used[n.Member(m)] = true
		}
	})
}
