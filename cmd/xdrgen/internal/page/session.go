package page

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
)

// Unit is the interface that a user has given.
type Unit struct {
	Name    string `json:"name"`    // of the file; if empty, input.x or document.txt
	Text    string `json:"text"`    // of a .x file or a document
	Sidecar string `json:"sidecar"` // its sidecar; empty for none
	File    string `json:"file"`    // one of the files that a document has; empty for all
	Section string `json:"section"` // sections of a document; empty for all
}

// Session answers requests. It keeps the last unit that it compiled, since requests about one unit
// follow each other. It is not safe for concurrent use.
type Session struct {
	unit   Unit // that result belongs to
	result *sema.Result
	err    error
}

// request is a request, with the fields of all kinds.
type request struct {
	Op   string      `json:"op"`
	Unit Unit        `json:"unit"`
	Fix  int         `json:"fix"` // index of the finding
	Code CodeOptions `json:"code"`
	Data DataOptions `json:"data"`
	Type string      `json:"type"` // of the picture
}

// failure is the answer if a request cannot be answered.
type failure struct {
	Failure string `json:"failure"`
}

// Do answers a request. Its result is JSON, also if the request is not.
func (s *Session) Do(text []byte) []byte {
	var r request
	if err := json.Unmarshal(text, &r); err != nil {
		return encode(failure{fmt.Sprintf("the request is not valid: %v", err)})
	}
	switch r.Op {
	case "check":
		return encode(s.Check(r.Unit))
	case "fix":
		return encode(s.Fix(r.Unit, r.Fix))
	case "code":
		return encode(s.Code(r.Unit, r.Code))
	case "picture":
		return encode(s.Picture(r.Unit, r.Type))
	case "decode":
		return encode(s.Decode(r.Unit, r.Data))
	}
	return encode(failure{fmt.Sprintf("found the request %q, expected check, fix, code, picture or decode", r.Op)})
}

// encode returns an answer as JSON.
func encode(answer any) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(answer); err != nil {
		return encode(failure{err.Error()})
	}
	return out.Bytes()
}
