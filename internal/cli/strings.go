package cli

import (
	"fmt"
	"reflect"

	"github.com/alecthomas/kong"
)

// Strings returns the option with which a parser keeps the bytes of its strings. Without it, bytes
// that are not UTF-8, which names of files can have, are replaced.
func Strings() kong.Option {
	return kong.KindMapper(reflect.String, kong.MapperFunc(func(c *kong.DecodeContext, target reflect.Value) error {
		token, err := c.Scan.PopValue("string")
		if err != nil {
			return err
		}
		target.SetString(fmt.Sprint(token.Value))
		return nil
	}))
}
