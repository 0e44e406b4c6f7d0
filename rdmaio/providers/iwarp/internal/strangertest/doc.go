// Package strangertest runs the provider iwarp against package stranger, an endpoint that shares no
// code with it. It has tests only.
package strangertest
