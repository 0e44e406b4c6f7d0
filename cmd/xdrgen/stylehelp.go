package main

const helpFmt = `Lay XDR files out: four blanks, one declaration a line, names, values and
comments in columns. Comments, lines for C and for the preprocessor, and text
that an #if leaves out stay as they are; so does the meaning, which is compared.

Usage: xdrgen fmt [-w] [-l] [-d] [-I dir] [-D name=value] FILE.x|FOLDER|-...

Examples:
  xdrgen fmt proto.x                        print it laid out
  xdrgen fmt -w spec/x                      rewrite all .x files of a folder
  xdrgen fmt -d proto.x                     show what would change
  xdrgen fmt - < proto.x                    from standard input

A file with errors of grammar is left as it is, and the errors go to stderr.
So is one with a .origin file beside it: its lines are those of a document.

  -w                 write the files that change, each in one step
  -l                 print the names of files that change; exit code 3 if there are any
  -d                 print the changes as a unified diff; exit code 3 if there are any
`

const helpLint = `Look for what hurts the users of a protocol that is correct XDR: data without
bounds, few bytes that make many in memory, unions that cannot grow, names that
meet in other languages. Exit code 3 if there is anything.

Usage: xdrgen lint [-level warning|advice] [-disable rule,...] [-sizes] [-format text|json|sarif|github] [-I dir] [-D name=value] [-errors n] FILE.x...

Examples:
  xdrgen lint proto.x
  xdrgen lint -sizes proto.x                what each type takes at most
  xdrgen lint -level advice proto.x         style as well
  xdrgen lint -disable unbounded-data,null-procedure -format json proto.x

A comment lets a finding pass, beside its line, above it, or above the
declaration that it is in:
  opaque data<>;   /* xdrgen:ignore unbounded-data the record mark bounds it */

  -level LEVEL       warning: hazards only (default); advice: style as well
  -disable RULE,...  rules that are not wanted; xdrgen help lint-rules lists them
  -format FORMAT     text; json: one object a line, the last of type summary;
                     sarif; github: annotations of an Actions run
  -sizes             instead of findings, a table (text or json) of all types: the least and the most bytes on
                     the wire, those of a Go value itself, and how many bytes of memory a value hangs on to for
                     each byte received, at most: the constants of the generated code
`

const helpCompat = `Compare two states of a protocol: what does each change break?
  wire       values that both can express are other bytes
  source     Go code against the old package does not build with the new one
  extension  an old peer does not take all that a new one sends, or the reverse
Exit code 3 if something breaks that is not allowed.

Usage: xdrgen compat [-allow what,...] [-all] [-format text|json|sarif|github] [-I dir] [-D name=value] [-bind FILE] OLD NEW

OLD and NEW are files, folders of .x files, or either at a commit: git:REF:path,
or git:REF for the other one's path.

Examples:
  xdrgen compat old/proto.x proto.x
  xdrgen compat git:HEAD proto.x
  xdrgen compat -allow source,member-added git:v1.2.0:spec/x/proto spec/x/proto

Declarations are matched by name, then by their form on the wire, so a new name
for the same bytes breaks Go source only. xdrgen help compat-rules is the table.

For a state at a commit, -I is a folder of that commit, and -bind a file of it.

  -allow WHAT,...    classes (wire, source, extension) and rules that may break
  -all               also show changes that break nothing
  -format FORMAT     text; json: one object a line, the last of type summary;
                     sarif; github: annotations of an Actions run
`
