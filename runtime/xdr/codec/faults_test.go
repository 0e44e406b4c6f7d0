package codec

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// TestFaultsOfAPartAreToldApart calls the functions that find out which fault a part has.
func TestFaultsOfAPartAreToldApart(t *testing.T) {
	b := []byte{0, 0, 0, 5, 1, 2, 3, 4, 5, 6, 0, 0} // a count, five bytes, a pad that begins with 6
	for _, c := range []struct {
		name        string
		err         *xdr.Error
		code        xdr.Code
		off         int
		found, want uint64
	}{
		{"opaque over its bound", BadOpaque(b, 4, 5, 4, "p"), xdr.CodeBound, 0, 5, 4},
		{"opaque longer than the input", BadOpaque(b, 4, 9, 64, "p"), xdr.CodeShort, 4, 8, 12},
		{"opaque over both", BadOpaque(b, 4, 9, 4, "p"), xdr.CodeBound, 0, 9, 4},
		{"opaque with a pad", BadOpaque(b, 4, 5, 64, "p"), xdr.CodePadding, 9, 0x60000, 0},
		{"array over its bound", BadCount(b, 4, 3, 2, 4, "p"), xdr.CodeBound, 0, 3, 2},
		{"array longer than the input", BadCount(b, 4, 3, 8, 4, "p"), xdr.CodeCount, 0, 3, 2},
		{"encoder over the bound", OverOrFull(8, 5, 4, "p"), xdr.CodeBound, 8, 5, 4},
		{"encoder without space", OverOrFull(8, 4, 4, "p"), xdr.CodeBuffer, 0, 0, 0},
	} {
		if e := c.err; e.Code != c.code || e.Offset != c.off || e.Found != c.found || e.Want != c.want {
			t.Errorf("%s: %v at %d, found %d, want %d; expected %v at %d, %d, %d",
				c.name, e.Code, e.Offset, e.Found, e.Want, c.code, c.off, c.found, c.want)
		}
	}
}
