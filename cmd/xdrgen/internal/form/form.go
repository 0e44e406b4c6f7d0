// Package form decodes data that people write as text: hex and base64.
package form

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Guess returns the form of data: "hex", "base64" or "raw". Raw XDR nearly always
// has a zero byte; text does not.
func Guess(in []byte) string {
	text := strings.TrimSpace(string(in))
	if text == "" || strings.IndexFunc(text, func(r rune) bool { return r > '~' || r < ' ' && !strings.ContainsRune("\t\r\n", r) }) >= 0 {
		return "raw"
	}
	for _, form := range []string{"hex", "base64"} {
		if out, err := Decode(in, form); err == nil && len(out)%4 == 0 {
			return form
		}
	}
	return "raw"
}

// Decode decodes data from a form, and returns raw data as they are. Blanks, colons,
// commas and 0x in hex are ignored.
func Decode(in []byte, form string) ([]byte, error) {
	switch form {
	case "hex":
		text := strings.NewReplacer("0x", "", "0X", "").Replace(string(in))
		text = strings.Map(func(r rune) rune {
			if strings.ContainsRune(" \t\r\n:,", r) {
				return -1
			}
			return r
		}, text)
		out, err := hex.DecodeString(text)
		var odd hex.InvalidByteError
		switch {
		case errors.As(err, &odd):
			err = fmt.Errorf("found %q, expected the digits 0 to 9 and a to f; blanks, commas, colons and 0x are ignored", string(rune(odd)))
		case err != nil:
			err = fmt.Errorf("found an odd number of digits, %d, expected two for each byte", len(text))
		}
		return out, err
	case "base64":
		in = bytes.Join(bytes.Fields(in), nil)
		enc := base64.StdEncoding
		if bytes.ContainsAny(in, "-_") {
			enc = base64.URLEncoding
		}
		if len(in)%4 != 0 {
			enc = enc.WithPadding(base64.NoPadding)
		}
		return enc.DecodeString(string(in))
	}
	return in, nil
}
