package xdrjson_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/runtime/xdr/xdrjson"
)

// dirplus is a reply with the entries of a directory, as JSON some 30 KB.
func dirplus() *nfs3.ReadDirPlusRes {
	v := new(nfs3.ReadDirPlusRes)
	for i := range 32 {
		e := nfs3.EntryPlus{FileID: nfs3.FileID(i), Name: nfs3.Filename(fmt.Sprintf("file%08d", i)), Cookie: nfs3.Cookie(i)}
		e.NameAttributes.AttributesFollow, e.NameAttributes.Attributes.Type = true, nfs3.FileTypeReg
		e.NameHandle.HandleFollows, e.NameHandle.Handle.Data = true, make([]byte, 32)
		v.OK.Reply.Entries = append(v.OK.Reply.Entries, e)
	}
	return v
}

// BenchmarkMarshal and BenchmarkUnmarshal compare xdrjson with encoding/json, which writes the same
// values in its own form of the Go structs.
func BenchmarkMarshal(b *testing.B) {
	v := dirplus()
	for name, marshal := range map[string]func() ([]byte, error){
		"xdrjson":       func() ([]byte, error) { return xdrjson.Marshal(v, "") },
		"encoding_json": func() ([]byte, error) { return json.Marshal(v) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				text, err := marshal()
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(text)))
			}
		})
	}
}

func BenchmarkUnmarshal(b *testing.B) {
	v := dirplus()
	own, err := xdrjson.Marshal(v, "")
	if err != nil {
		b.Fatal(err)
	}
	plain, err := json.Marshal(v)
	if err != nil {
		b.Fatal(err)
	}
	for name, unmarshal := range map[string]func() (int, error){
		"xdrjson":       func() (int, error) { return len(own), xdrjson.Unmarshal(own, new(nfs3.ReadDirPlusRes), "") },
		"encoding_json": func() (int, error) { return len(plain), json.Unmarshal(plain, new(nfs3.ReadDirPlusRes)) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				n, err := unmarshal()
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(n))
			}
		})
	}
}
