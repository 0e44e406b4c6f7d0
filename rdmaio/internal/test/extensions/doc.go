// Package extensions tests extensions of version 2 that a program adds: their properties, messages
// and errors reach their own handler, in both directions, and an extension that fails costs its
// own connection alone.
package extensions
