// Command extract takes the XDR out of protocol documents.
//
// It reads spec/MANIFEST, extracts the XDR of each document named there, applies the reviewed
// corrections of spec/errata, and writes spec/x/<unit>/<file>.x with an origin map next to it. The
// result holds extracted lines and errata and nothing else, so the same inputs give the same bytes
// on any machine. It imports the standard library only.
//
// A unit is one Go package to be: one or more .x files that share a scope and are read in the order
// of the manifest. Folders under spec/x that the manifest does not name were dropped in by hand;
// they are never touched.
//
// # Manifest
//
// spec/MANIFEST is read by line. A line whose first visible character is # is a comment, as is the
// rest of a line after " #". Words are separated by blanks; indentation is free. A document line
// begins a block, a unit line begins a unit of that document, a file line adds a file to that unit:
//
//	document NAME             a file in the folder of the manifest
//	version  WORD             revision of the document, for people and reports
//	sha256   HEX              of the file as it lies there
//	mode     marked|sections|none
//	unit     NAME             spec/x/NAME; lower-case letters and digits, starts with a letter
//	target   DIR              folder of the package that this unit yields; gen/NAME unless given;
//	                          none if make generate does not make its package
//	file     NAME.x [SECTION...]
//
// Mode marked takes the lines that begin with three slashes. With one file in all, that file gets
// every line; with more, they follow the FILE ENDS or @@FILE lines of the document, name by name.
// Mode sections takes the XDR definitions found under the sections listed with each file (a section
// includes its subsections; table:NUMBER, see below). Mode none is for a document with no XDR: its
// checksum is verified, nothing else.
//
// # Extraction
//
// Marked: optional blanks, three slashes, at most one blank, then the text. A fourth slash belongs
// to the text and is accepted where it opens a comment ("////*"). Lines that hold the marker
// anywhere else (quoted scripts) are not taken. A document may divide its XDR into files: by a
// comment "FILE ENDS: name.x" at the end of each, or by a line "@@FILE name.x" before each. The
// latter is dropped, and the lines before the first one are put at the front of every file. A line
// that looks like such a mark, and has another form, is left out with a warning; a comment stays.
//
// RFC 8276 has members and arms, which it adds to types of another document, within comments. If
// the comment above says that they are to be added, the lines with the comment signs alone are
// dropped, so that the sidecar can name the types (xdrgen help sidecar: amend).
//
// Sections: a definition is recognized by its form, not by its place. It begins with struct, union,
// enum, typedef, const or program in the shape of a definition and runs to the semicolon that
// closes it; a comment directly above belongs to it. Page footers, headers, form feeds and the
// empty lines around them are cut out, the indentation common to one definition is removed, and two
// definitions have one empty line between them where the document has one. A union may lack its
// switch, or have it on the next line.
//
// Tables: where a file's list has table:2.4 in place of 2.4, the lines of that section that hold a
// name in capitals and a number, and nothing else, are taken as constants: "NFS3_FHSIZE 64" as
// "const NFS3_FHSIZE = 64;". This is the only case in which a line is rewritten. Older documents
// give their sizes in this form; the manifest says where.
//
// In both modes a byte order mark, carriage returns, form feeds and blanks at the end of a line are
// dropped, and so is the markup of the document: HTML and RFC 7991 XML tags around code, CDATA,
// entities (XDR has no &), the > of quoted Markdown and mail, overstriking. With -doc and mode
// sections, code that a fence or a <sourcecode> marks as another language is skipped, and a
// definition that the document repeats word for word is taken once.
//
// # Errata
//
// spec/errata/<document> holds reviewed replacements:
//
//	erratum P2-missing-brace         a unique name: letters, digits, dot, dash, underscore
//	file    common.x                 the extracted file it applies to
//	section 7.3                      where the document has the fault
//	reason  why, citing the rule; a line that begins with a blank
//	        continues it
//	@@
//	-struct rpcrdma2_hdr_prefix
//	+struct rpcrdma2_hdr_prefix {
//	         struct rpcrdma_common       rdma_start;
//
// A hunk begins with @@ and ends at an empty line, the next hunk or the next erratum. Its lines
// begin with a blank (context), a minus (removed) or a plus (added); what follows that character is
// compared to the byte. Context and removed lines together must match exactly once in the extracted
// file, before any erratum is applied; two errata may share context but not remove the same line.
// Comments (#) are outside hunks. Three more forms exist:
//
//	@start    followed by + lines: put before the first line of the file
//	@end      followed by + lines: put after the last line
//	@move     followed by - lines that match exactly once: moved, unchanged, to the end of the
//	          file, or to context lines that match exactly once after a line "@before" or "@after"
//
// # Origin map
//
// spec/x/<unit>/<file>.x.origin says where each line of the .x file comes from. A line of the map
// is words with one blank between them, without comments, and has a newline at its end. The first
// line is
//
//	xdr-origin 1 DOCUMENT
//
// with the version of this format and the document's file name in spec/. Each further line is a
// run:
//
//	12-40 DOCUMENT 870                 lines 12 to 40 are from line 870 on of spec/DOCUMENT
//	41 errata DOCUMENT P2-missing 17   the erratum added line 41: line 17 of spec/errata/DOCUMENT
//
// A run of one line is written N, a longer one FIRST-LAST; the last number is the place of the
// run's first line, the others follow one by one. Lines count from 1. Runs are in order and cover
// every line of the .x file exactly once.
package main
