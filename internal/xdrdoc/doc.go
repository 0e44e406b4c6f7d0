// Package xdrdoc takes the XDR out of protocol documents: RFCs and drafts as text, HTML, XML or
// Markdown. tools/extract writes it to .x files, and xdrgen compiles it in place. The documentation
// of tools/extract describes how XDR is found.
package xdrdoc
