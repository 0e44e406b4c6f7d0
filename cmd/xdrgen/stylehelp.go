package main

const helpFmt = `Format XDR files: an indent of four spaces, one declaration per line, and names,
values and comments aligned in columns.

fmt keeps comments, % lines, preprocessor lines and text that an #if excludes as
they are. It compares the meaning of each file before and after, and fails if
the meaning would change.

Usage: xdrgen fmt [-w] [-l] [-d] [-I dir] [-D name=value] FILE.x|FOLDER|-...

Examples:
  xdrgen fmt proto.x                        print the formatted file
  xdrgen fmt -w spec/x                      rewrite all .x files of a folder
  xdrgen fmt -d proto.x                     show what would change
  xdrgen fmt - < proto.x                    format standard input

fmt does not change a file with syntax errors; it reports them on stderr. Nor
does it change a file that has a .origin file beside it: its lines are those of
a document.

  -w                 replace each file that changes
  -l                 print the names of files that would change, and exit with code 3 if there are any
  -d                 print the changes as a unified diff, and exit with code 3 if there are any
`

const helpLint = `Report hazards in a protocol that is correct XDR: data without bounds, small
messages that take much memory, unions that cannot be extended, names that clash
in other languages. The exit code is 3 if there are findings.

Usage: xdrgen lint [-level warning|advice] [-disable rule,...] [-sizes] [-format text|json|sarif|github] [-I dir] [-D name=value] [-errors n] FILE.x...

Examples:
  xdrgen lint proto.x
  xdrgen lint -sizes proto.x                show the size limits of each type
  xdrgen lint -level advice proto.x         report style as well
  xdrgen lint -disable unbounded-data,null-procedure -format json proto.x

A comment on the same line, on the line above, or above the declaration
suppresses a finding:
  opaque data<>;   /* xdrgen:ignore unbounded-data the record mark bounds it */

  -level LEVEL       warning (default): hazards only; advice: style as well
  -disable RULE,...  rules to leave out; xdrgen help lint-rules lists them
  -format FORMAT     text; json: one object per line, the last of type summary;
                     sarif; github: GitHub Actions annotations
  -sizes             print a table (text or json) of all types instead of findings: the least and the most
                     bytes on the wire, the bytes of the Go value itself, and the most bytes of memory
                     that a value holds per byte received. The generated code has these as constants
`

const helpCompat = `Compare two versions of a protocol and report what each change breaks:
  wire       a value that both versions can express has different bytes
  source     Go code written for the old package does not build with the new one
  extension  an old peer does not accept everything that a new one sends, or the reverse
The exit code is 3 if something breaks that -allow does not name.

Usage: xdrgen compat [-allow what,...] [-all] [-extends] [-old-names FILE] [-format text|json|sarif|github] [-I dir] [-D name=value] [-bind FILE] OLD NEW

OLD and NEW are files or folders of .x files. git:REF:path reads either from a
commit; git:REF alone stands for the path of the other argument at that commit.

Examples:
  xdrgen compat old/proto.x proto.x
  xdrgen compat git:HEAD proto.x
  xdrgen compat -extends old/proto.x proto.x
  xdrgen compat -allow source,member-added git:v1.2.0:spec/x/proto spec/x/proto

Declarations are matched by name, then by their encoding, so renaming a type
breaks only Go source. xdrgen help compat-rules lists the rules.

When a version is read from a commit, -I and -bind are read from it as well.

  -allow WHAT,...    classes (wire, source, extension) and rules that may break
  -all               also show changes that break nothing
  -extends           check that NEW is a pure extension of OLD (RFC 8178 section 4.2): all that a
                     peer with OLD can send or receive has the same bytes in NEW. Allowed are further
                     members of enums, further cases of unions without a default, further
                     declarations, procedures and versions, and other Go names. The verdict goes to
                     stdout, with the changes that are not allowed
  -old-names FILE    Go names of the old version, as xdrgen gen -names -format json printed them. They
                     also show a change of the rules for Go names between two versions of xdrgen; without
                     the file, both versions get their names by the rules of this one
  -format FORMAT     text; json: one object per line, the last of type summary;
                     sarif; github: GitHub Actions annotations
`
