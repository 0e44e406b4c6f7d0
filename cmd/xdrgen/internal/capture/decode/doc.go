// Package decode decodes the messages of captured calls by the types of a unit: a reply by its
// Call, with the items of its write chunks.
package decode
