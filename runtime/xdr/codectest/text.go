package codectest

import (
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// maxText is the greatest length that package text documents.
const maxText = 4096

// spoiledWords is about the number of words that printed replaces, one at a time.
const spoiledWords = 32

// printed prints a value that was decoded, and what the decoder left of one with a word replaced:
// arms that are not selected, numbers that are not values of the enum.
func printed(t *Type, wire []byte) error {
	v := t.New()
	if err := v.UnmarshalBinary(wire); err != nil {
		return err
	}
	if err := printable(v); err != nil {
		return err
	}
	step := 4 * (1 + len(wire)/4/spoiledWords)
	for off := 0; off+4 <= len(wire); off += step {
		for _, b := range []byte{0, 1, 0x7f, 0xff} {
			spoiled := append([]byte(nil), wire...)
			spoiled[off], spoiled[off+3] = b, b
			_ = v.DecodeXDR(xdr.NewDecoder(spoiled, nil)) // printed whether or not it is valid
			if err := printable(v); err != nil {
				return fmt.Errorf("%x: %w", spoiled, err)
			}
		}
	}
	return nil
}

// printable checks the text of a value, if its type has the method String. For types of bytes that
// are text it returns all of them.
func printable(v Value) (err error) {
	s, ok := v.(fmt.Stringer)
	if typ := reflect.TypeOf(v).Elem(); !ok || typ.Kind() == reflect.Slice && typ.Elem().Kind() == reflect.Uint8 {
		return nil
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("method String: %v", r)
		}
	}()
	switch text := s.String(); {
	case len(text) > maxText:
		return fmt.Errorf("method String returns %d bytes, want %d at most", len(text), maxText)
	case !utf8.ValidString(text) || strings.ContainsAny(text, "\n\r"):
		return fmt.Errorf("method String returns %q, want a line of UTF-8", text)
	}
	return nil
}
