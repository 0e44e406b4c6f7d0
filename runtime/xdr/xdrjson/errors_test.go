package xdrjson_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/internal/golden"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
	"github.com/rpcrdma/rpcrdma/runtime/xdr/xdrjson"
)

// with returns the text of a tree with another value for some key.
func with(key, value string) string {
	usual := map[string]string{
		"f": "0", "d": "0", "next": "null", "maybe": "null", "words": "[]", "pair": `["0","0"]`, "kids": "[]",
		"choice": `{"discriminant":false}`,
	}
	return strings.Replace(plain, `"`+key+`":`+usual[key], `"`+key+`":`+value, 1)
}

// TestErrors compares the errors for texts with a golden file.
func TestErrors(t *testing.T) {
	tree4 := strings.TrimPrefix(strings.Repeat(","+plain, 4), ",")
	lookup := func() xdrjson.Value { return new(nfs3.LookupArgs) }
	setattr := func() xdrjson.Value { return new(nfs3.SetAttrRes) }
	read := func() xdrjson.Value { return new(nfs3.ReadRes) }
	list := func() xdrjson.Value { return new(nfs3.DirList) }
	trees := func() xdrjson.Value { return new(tree) }
	var out strings.Builder
	for _, c := range []struct {
		make func() xdrjson.Value
		text string
	}{
		{lookup, ``},
		{lookup, `{"what":`},
		{lookup, `{"what":{]`},
		{lookup, `{} {}`},
		{lookup, "{\"what\":{\"dir\":{\"data\":\"\xff\"}}}"},
		{lookup, `null`},
		{lookup, `[]`},
		{lookup, `{}`},
		{lookup, "{\n\t\"what\": {\n\t\t\"dir\": {\"data\": \"0g\"},\n\t\t\"name\": \"é\"\n\t}\n}"},
		{lookup, "{\n\t\"what\": {\n\t\t\"dir\": {\"data\": \"00\"},\n\t\t\"näme\": \"é\"\n\t}\n}"},
		{lookup, `{"what":{"dir":{"data":"00"},"dir":{"data":"00"},"name":""}}`},
		{lookup, `{"what":{"dir":{"data":"00"}}}`},
		{lookup, `{"what":{"dir":{"data":"00"},"name":null}}`},
		{lookup, `{"what":{"dir":{"data":"00"},"name":{"hex":"00","text":""}}}`},
		{lookup, `{"what":{"dir":{"data":{}},"name":""}}`},
		{lookup, `{"what":{"dir":{"data":{"hex":1}},"name":""}}`},
		{lookup, `{"what": {"name": "a", "dir": {"data": "` + strings.Repeat("00", 65) + `"}}}`},
		{setattr, `{"discriminant":"NFS3_OK"}`},
		{setattr, `{"arm":{"obj_wcc":1},"discriminant":"NFS3_OK"}`},
		{setattr, `{"arm":{}}`},
		{setattr, `{"discriminant":"NFS3_OK","discriminant":0}`},
		{setattr, `{"discriminant":"NFS3_OK","arm":{},"also":1}`},
		{read, `{"discriminant":"NFS3_FINE","arm":{}}`},
		{read, `{"discriminant":7.5,"arm":{}}`},
		{read, `{"discriminant":true}`},
		{read, `{"discriminant": 3, "arm": {"file_attributes": {"discriminant": false}}}`},
		{read, `{"discriminant":"NFS3_OK","arm":{"file_attributes":{"discriminant":false},"count":-1,"eof":false,"data":""}}`},
		{read, `{"discriminant":"NFS3_OK","arm":{"file_attributes":{"discriminant":false},"count":4294967296,"eof":false,"data":""}}`},
		{read, `{"discriminant":"NFS3_OK","arm":{"file_attributes":{"discriminant":false},"count":"1","eof":false,"data":""}}`},
		{read, `{"discriminant":"NFS3_OK","arm":{"file_attributes":{"discriminant":false},"count":1,"eof":0,"data":""}}`},
		{read, `{"discriminant":"NFS3_OK","arm":{"file_attributes":{"discriminant":false,"arm":null},"count":1,"eof":true,"data":""}}`},
		{list, `{"entries":[{"fileid":"18446744073709551616","name":"","cookie":1}],"eof":true}`},
		{list, `{"entries":[{"fileid":1,"name":"","cookie":1},{"fileid":[],"name":"","cookie":1}],"eof":true}`},
		{list, `{"entries":{},"eof":true}`},
		{func() xdrjson.Value { return new(nfs3.CreateHow) }, `{"discriminant": 99, "arm": {}}`},
		{func() xdrjson.Value { return new(nfs3.CreateVerf) }, `"00"`},
		{trees, with("f", `"nan"`)},
		{trees, with("f", "3.5e38")},
		{trees, with("d", `"NaN:7ff0000000000000"`)},
		{trees, with("d", "1e999")},
		{trees, with("d", "[]")},
		{trees, with("next", `{}`)},
		{trees, strings.Replace(plain, `"next":null,`, "", 1)},
		{trees, with("maybe", `true`)},
		{trees, with("maybe", `{"value":true,"more":1}`)},
		{trees, with("maybe", `{"value":1}`)},
		{trees, with("words", `["a"]`)},
		{trees, with("words", `[{"word":"a"},{"word":2}]`)},
		{trees, with("words", `[{"word":"a","next":null}]`)},
		{trees, with("pair", `["1"]`)},
		{trees, with("pair", `["1","2","3"]`)},
		{trees, with("kids", "["+tree4+"]")},
		{trees, with("next", with("kids", "["+plain+",\n "+with("kids", "["+tree4+"]")+"]"))},
		{trees, strings.Repeat("[", 20000)},
	} {
		err := xdrjson.Unmarshal([]byte(c.text), c.make(), "")
		var fault *xdrjson.Error
		if !errors.As(err, &fault) || fault.Line < 1 || fault.Column < 1 || fault.Offset > len(c.text) {
			t.Errorf("%.200s: %#v", c.text, err)
		}
		fmt.Fprintf(&out, "%.200s\n\t%v\n", c.text, err)
	}
	golden.CheckString(t, "testdata/errors.golden", out.String())
}

// TestErrorIs checks that the error of the encoder is behind that of UnmarshalJSON.
func TestErrorIs(t *testing.T) {
	long := `{"what":{"name":"a","dir":{"data":"` + strings.Repeat("00", 65) + `"}}}`
	err := xdrjson.Unmarshal([]byte(long), new(nfs3.LookupArgs), "")
	var fault *xdrjson.Error
	if !errors.Is(err, xdr.ErrBound) || !errors.As(err, &fault) || fault.Path != "what.dir.data" || fault.Offset != 34 {
		t.Errorf("%#v", err)
	}
}

// TestDeepPath checks that the path of a deep fault is short, and that a position is given where
// the encoder's path leaves steps out.
func TestDeepPath(t *testing.T) {
	deep := func(inner string) string {
		text := inner
		for range 40 {
			text = with("kids", "["+text+"]")
		}
		return text
	}
	for _, inner := range []string{with("pair", "0"), with("kids", "["+plain+","+plain+","+plain+","+plain+"]")} {
		text := deep(inner)
		err := xdrjson.Unmarshal([]byte(text), new(tree), "")
		var fault *xdrjson.Error
		if !errors.As(err, &fault) || len(fault.Path) > 400 || !strings.HasPrefix(fault.Path, "kids[0]") || fault.Offset == 0 {
			t.Errorf("%#v", err)
		}
	}
}

// TestNotGenerated checks types that xdrgen does not write.
func TestNotGenerated(t *testing.T) {
	for _, v := range []xdrjson.Value{new(wrong), new(nameless)} {
		_, err := xdrjson.Marshal(v, "")
		if other := xdrjson.Unmarshal([]byte("{}"), v, ""); err == nil || other == nil || err.Error() != other.Error() {
			t.Errorf("%T: %v, %v", v, err, other)
		}
	}
	if _, err := xdrjson.Marshal((*tree)(nil), ""); err == nil || err.Error() != "xdrjson: found a nil *xdrjson_test.tree, expected a value" {
		t.Error(err)
	}
	if err := xdrjson.Unmarshal([]byte(plain), (*tree)(nil), ""); err == nil {
		t.Error("a nil pointer was accepted")
	}
}

// wrong has a field of a type that XDR does not have.
type wrong struct {
	tree
	M map[string]int
}

// nameless has an enum of a package that was generated without names.
type nameless struct {
	tree
	E bare `xdr:"e"`
}

type bare int32

func (bare) Valid() bool { return true }
