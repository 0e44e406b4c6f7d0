// Package archtest holds the shape of the module: which package may import
// which, and the habits that a machine can see.
//
// The table in table.go is the truth about import arrows. Every package of the
// module matches a row of it; a new package adds one, and an arrow that the
// table does not have needs a decision record in docs/adr. Rows bind the files
// that users link. Test files may import any package of the module and go-cmp.
//
// Besides arrows, Check looks at package comments, the length of hand-written
// files, the header of generated ones, imports of unsafe and C, and exported
// declarations of public packages that name internal ones. It reads
// source text only (every build tag, no type checking), skips testdata and
// nested modules, and reports all that it finds. CheckDocs looks at the pages:
// links lead somewhere, and the indexes of docs and docs/adr are complete.
package archtest
