package main

const helpDoc = `Write a page that describes one unit: programs, types, constants, sizes, comments, packet pictures.

Usage: xdrgen doc [-o FILE] [-only NAME]... [-I dir] [-D name=value] [-bind FILE] FILE.x...
       xdrgen doc -text [-o FILE] [-only NAME]... [-I dir] [-D name=value] [-bind FILE] FILE.x...
       xdrgen doc -svg -only NAME [-o FILE] [-I dir] [-D name=value] [-bind FILE] FILE.x...

Examples:
  xdrgen doc -o proto.html proto.x
  xdrgen doc -o beat.html draft-beat-01.txt
  xdrgen doc -text proto.x | less
  xdrgen doc -text -only entry proto.x          the packet picture for a draft
  xdrgen doc -svg -only entry -o entry.svg proto.x

The page is one HTML file without scripts, which asks no other server for
anything. Each type has its least and most bytes on the wire, its XDR with the
numbers of the lines, and its packet picture: 32 bits a row, with the offset of
each item as long as it is fixed. Items of another size than the picture shows
have torn edges. The arms of a union, the elements of an array and optional data
are lanes: the items with one bar belong together. Names of types are links,
and each type has links to the types and procedures that use it. Procedures have
what the sidecar says about them, such as data that RDMA may place directly.

  -o FILE            write to FILE instead of standard output
  -only NAME         describe this declaration alone; may be repeated
  -text              plain text, at most 72 columns, with pictures in characters as in RFCs; pictures
                     have 69 columns unless an item is 1000 bytes or more from the start
  -svg               the packet picture of the type that -only names, as a file

docs/doc.md has an example.
`
