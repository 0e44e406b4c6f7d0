// Package lsp is a server of the Language Server Protocol, version 3.17, for XDR files, their
// sidecars and documents with XDR. It has no knowledge of XDR: the compiler's packages and the
// functions of Config have it.
//
//	stdin ──reader──> message ──loop──> state: documents, units
//	                             │ ▲
//	            snapshot of texts│ │analysis, answer
//	                             ▼ │
//	                             jobs: one check and one query at a time
//
// One goroutine, the loop, has the state and writes all messages. A job works on a snapshot, so
// that edits never wait for it. An edit cancels the check of its unit that runs. A request about a
// unit waits for the check of the latest texts.
package lsp
