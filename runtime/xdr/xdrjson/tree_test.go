package xdrjson_test

import (
	"encoding/binary"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
	"github.com/rpcrdma/rpcrdma/runtime/xdr/codec"
)

// tree is a type that contains itself, with fields of kinds that no package under gen has. Its
// encoder, like a generated one, does not end for a cycle, and refuses more than three kids.
type tree struct {
	Float  float32                          `xdr:"f"`
	Double float64                          `xdr:"d"`
	Next   *tree                            `xdr:"next"`
	Maybe  xdr.Optional[xdr.Optional[bool]] `xdr:"maybe"`
	Words  []xdr.String                     `xdr:"words,node=0:word,string"`
	Pair   [2]int64                         `xdr:"pair"`
	Kids   []tree                           `xdr:"kids"`
	Choice choice                           `xdr:"choice"`
}

// root is a typedef of a pointer to a tree.
type root struct {
	Value *tree `xdr:"root,whole"`
}

func (r *root) XDRSize() int {
	if r.Value == nil {
		return 4
	}
	return 4 + r.Value.size()
}

func (*root) EncodeXDR(*xdr.Encoder) error { return nil }
func (*root) DecodeXDR(*xdr.Decoder) error { return nil }

func (r *root) AppendBinary(b []byte) ([]byte, error) {
	b = binary.BigEndian.AppendUint32(b, codec.Word(r.Value != nil))
	if r.Value == nil {
		return b, nil
	}
	b, err := r.Value.AppendBinary(b)
	if err != nil {
		return b, codec.In(err, "test.root:")
	}
	return b, nil
}

type choice struct {
	Big  bool  `xdr:"big,switch,case=0"`
	Tree *tree `xdr:"tree,case=1,pointer"`
}

func (t *tree) XDRSize() int { return t.size() }

func (t *tree) size() int {
	n := 4
	for i := range t.Kids {
		n += t.Kids[i].size()
	}
	if t.Next != nil {
		n += t.Next.size()
	}
	return n
}

func (t *tree) AppendBinary(b []byte) ([]byte, error) {
	b = binary.BigEndian.AppendUint32(b, uint32(len(t.Kids)))
	if len(t.Kids) > 3 {
		return b, codec.Fail(xdr.CodeBound, 0, uint64(len(t.Kids)), 3, "test.tree:Kids")
	}
	if t.Choice.Big && t.Choice.Tree == nil {
		return b, codec.Fail(xdr.CodeEmpty, 0, 0, 1, "test.tree:Choice.Tree")
	}
	for i := range t.Kids {
		var err error
		if b, err = t.Kids[i].AppendBinary(b); err != nil {
			return b, codec.In(err, "test.tree:Kids[]", i)
		}
	}
	if t.Next != nil {
		var err error
		if b, err = t.Next.AppendBinary(b); err != nil {
			return b, codec.In(err, "test.tree:Next")
		}
	}
	return b, nil
}

func (t *tree) EncodeXDR(e *xdr.Encoder) error { return nil }
func (t *tree) DecodeXDR(d *xdr.Decoder) error { return nil }

// plain is the text of a tree without branches.
const plain = `{"f":0,"d":0,"next":null,"maybe":null,"words":[],"pair":["0","0"],"kids":[],"choice":{"discriminant":false}}`

// maybe is typedef string *maybe<>, whose tag says that the bytes are text.
type maybe xdr.Optional[[]byte]

func (*maybe) XDRSize() int                          { return 0 }
func (*maybe) AppendBinary(b []byte) ([]byte, error) { return b, nil }
func (*maybe) EncodeXDR(*xdr.Encoder) error          { return nil }
func (*maybe) DecodeXDR(*xdr.Decoder) error          { return nil }
