// Package page is the part of the page for browsers that is written in Go: it turns the texts and
// bytes of a user into JSON that the page shows. It reads no files, and runs on every system; the
// command below wasm runs it in a browser, and the command below build makes the page.
//
// A request and its answer are one JSON object each:
//
//	check    the findings about a unit, what they mean, and the names of its types
//	fix      the text of the unit, with the fix of one finding
//	code     the Go package of the unit
//	picture  the packet picture of a type
//	decode   bytes by one of its types, as a list of items
//
// A user may have opened a link that someone else wrote, so all texts of a request are hostile.
// Answers have them as text, never as markup.
package page
