package lsp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// The limits of what a client may send, in bytes. A message may have the largest text that the
// compiler accepts with an escape for most of its characters.
const (
	maxHeader  = 4 << 10
	maxMessage = 4 * source.MaxSize
)

// message is a request, a notification or a response. A request has an ID and a method, a
// notification only a method, and a response only an ID.
type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
}

// The codes of errors, of JSON-RPC 2.0 and of the Language Server Protocol.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
	codeNotInitialized = -32002
	codeRequestFailed  = -32803
	codeCancelled      = -32800
	codeModified       = -32801
)

// failure is the error of a response.
type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (f *failure) Error() string { return f.Message }

// fail returns the error of a response.
func fail(code int, format string, args ...any) *failure {
	return &failure{Code: code, Message: fmt.Sprintf(format, args...)}
}

// readFrame reads the body of a message. Its memory grows with the bytes received, up to
// maxMessage. After an error other than io.EOF, the place of the next message is not known.
func readFrame(r *bufio.Reader) ([]byte, error) {
	length, left := -1, maxHeader
	for first := true; ; first = false {
		line, err := headerLine(r, &left)
		if err != nil {
			if err == io.EOF && (!first || line != "") {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if line == "" {
			break
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("found the header line %.64q, expected NAME: VALUE", line)
		}
		if !strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 63)
		switch {
		case err != nil:
			return nil, fmt.Errorf("found Content-Length %.64q, expected a number of bytes", strings.TrimSpace(value))
		case n > maxMessage:
			return nil, fmt.Errorf("found Content-Length %d, expected at most %d bytes", n, maxMessage)
		case length >= 0 && length != int(n):
			return nil, fmt.Errorf("found two lengths, %d and %d", length, n)
		}
		length = int(n)
	}
	if length < 0 {
		return nil, errors.New("found a header without Content-Length")
	}
	var body bytes.Buffer
	if _, err := io.CopyN(&body, r, int64(length)); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	return body.Bytes(), nil
}

// headerLine reads a line of at most *left bytes, and subtracts its length.
func headerLine(r *bufio.Reader, left *int) (string, error) {
	var line []byte
	for {
		c, err := r.ReadByte()
		if err != nil {
			return string(line), err
		}
		if *left--; *left < 0 {
			return "", fmt.Errorf("found a header of more than %d bytes", maxHeader)
		}
		if c == '\n' {
			return strings.TrimSuffix(string(line), "\r"), nil
		}
		line = append(line, c)
	}
}

// parse decodes a message. Its error is for a response.
func parse(body []byte) (message, *failure) {
	var m message
	if err := json.Unmarshal(body, &m); err != nil {
		code := codeParse
		if json.Valid(body) {
			code = codeInvalidRequest
		}
		return message{}, fail(code, "the message is not valid: %v", err)
	}
	if len(m.ID) > 0 && !isID(m.ID) {
		return message{}, fail(codeInvalidRequest, "found the id %.64s, expected a number or a string", m.ID)
	}
	if m.Method == "" && m.ID == nil {
		return message{}, fail(codeInvalidRequest, "found a message without method and id")
	}
	return m, nil
}

// isID reports whether a JSON value can be the ID of a request.
func isID(id json.RawMessage) bool {
	return id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9'
}

// writer writes messages.
type writer struct {
	w   io.Writer
	err error // first error; then nothing more is written
}

// outgoing is a message of the server.
type outgoing struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *failure        `json:"error,omitempty"`
}

// null is the result of a request without one.
var null = json.RawMessage("null")

// respond writes the response to a request. A nil ID stands for a request whose ID is not known.
func (w *writer) respond(id json.RawMessage, result any, failed *failure) {
	if id == nil {
		id = null
	}
	m := outgoing{ID: id, Error: failed}
	if failed == nil {
		m.Result = result
		if result == nil {
			m.Result = null
		}
	}
	w.write(m)
}

// notify writes a notification.
func (w *writer) notify(method string, params any) { w.write(outgoing{Method: method, Params: params}) }

func (w *writer) write(m outgoing) {
	if w.err != nil {
		return
	}
	m.Version = "2.0"
	body, err := json.Marshal(m)
	if err == nil {
		_, err = w.w.Write(append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(body)), body...))
	}
	w.err = err
}

// ask writes a request to the client.
func (w *writer) ask(id int, method string, params any) {
	w.write(outgoing{ID: strconv.AppendInt(nil, int64(id), 10), Method: method, Params: params})
}
