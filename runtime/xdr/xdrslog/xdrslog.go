// Package xdrslog lets slog.JSONHandler print values of generated types as text.
//
// slog.TextHandler prints them by their method String. slog.JSONHandler does not: it writes the Go
// fields as JSON, with the arms of unions that are not selected, and without a limit; or, if the
// type has the method MarshalJSON, the whole value. Generated types have no method LogValue, since
// they would then import log/slog (ADR 0060).
package xdrslog

import (
	"fmt"
	"log/slog"
	"reflect"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// ReplaceAttr replaces values of generated types, and pointers to them, by their text. It is for
// the field of that name in slog.HandlerOptions. It changes no other attribute.
func ReplaceAttr(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() != slog.KindAny {
		return a
	}
	v := a.Value.Any()
	if _, ok := v.(fmt.Stringer); ok && generated(reflect.TypeOf(v)) {
		a.Value = slog.StringValue(fmt.Sprint(v)) // of a nil pointer: <nil>
	}
	return a
}

var value = reflect.TypeFor[xdr.Value]()

// generated reports whether t is a generated type or a pointer to one.
func generated(t reflect.Type) bool {
	return t.Implements(value) || reflect.PointerTo(t).Implements(value)
}
