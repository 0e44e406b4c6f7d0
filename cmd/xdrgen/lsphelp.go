package main

const helpLSP = `Serve an editor by the Language Server Protocol, on stdin and stdout.

Usage: xdrgen lsp [-I dir] [-D name=value] [-type NAME=XDRTYPE] [-import unit/file.x]

Examples:
  xdrgen lsp
  xdrgen lsp -I spec/x -D MAXNAMELEN=1025

An editor starts the command; docs/editor.md says how to set up Neovim, VS Code,
Emacs, Helix and others. The server checks .x files, their sidecars, and documents
with XDR as xdrgen check does, and formats .x files as xdrgen fmt does.

A file belongs to a unit as follows: all .x files of a folder with the sidecar
FOLDER/FOLDER.bind; else the file of the folder that includes the others; else
the file alone. Units in folders above are found without -I.

  -I dir             folder with the folders of included units; a relative one is
                     below the editor's folder
  -D NAME=VALUE      a constant that the files use but do not declare
  -type NAME=XDR     a type that the files use but do not declare
  -import U/FILE.x   a file that each unit includes
  -stdio             no effect: some editors add it

It exits with code 0 if the editor asked for a shutdown first, else with 1.
`
