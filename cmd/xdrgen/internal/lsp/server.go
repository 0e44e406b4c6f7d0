package lsp

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
)

// Config has what Serve needs.
type Config struct {
	In      io.Reader    // from the client
	Out     io.Writer    // to the client
	Log     io.Writer    // for people: why Serve returns
	Version string       // of the server, for the client's log
	Options sema.Options // for each unit; relative folders of Include are below the client's folder

	// IsDocument reports whether a text other than an .x file or a sidecar is a document with XDR.
	IsDocument func(text []byte) bool

	// Compile compiles a unit, whose files may be documents with XDR. Format returns the formatted
	// text of a file with a name; its error is for the user. Both run on other goroutines, and
	// return soon after the file system of the options fails.
	Compile func(sema.Options) (*sema.Result, error)
	Format  func(o sema.Options, name string, text []byte) ([]byte, error)
}

// phase is the phase of a session: before the request initialize, after it, and after the request
// shutdown.
type phase int

const (
	starting phase = iota
	running
	stopping
)

// state holds the client and the open documents, from which answers are made.
type state struct {
	cfg    Config
	client client
	texts  texts
}

// server is a session. Only its loop uses it.
type server struct {
	state
	out    writer
	phase  phase
	ended  bool             // the client sent exit
	units  map[string]*unit // with open documents, by key
	shown  shown
	check  lane // checks units
	query  lane // answers requests that read more than one unit
	queue  []*request
	done   chan func()   // from jobs: what the loop does with the result
	quit   chan struct{} // closed when the loop returns
	nextID int           // of requests to the client
}

// incoming is a message that the reader goroutine has read, or its error.
type incoming struct {
	body []byte
	err  error
}

// Serve runs a session until the client sends exit, or In fails. It returns the exit code of the
// process: 0 if the client asked for a shutdown before, else 1. A job that still runs then stops
// soon. After exit a goroutine may still wait for a byte of In.
func Serve(cfg Config) int {
	s := &server{
		state: state{cfg: cfg, texts: texts{}}, out: writer{w: cfg.Out}, units: map[string]*unit{}, shown: shown{},
		done: make(chan func()), quit: make(chan struct{}),
	}
	defer close(s.quit)
	in := make(chan incoming)
	go read(cfg.In, in, s.quit)
	defer s.stop()
	for {
		select { // all messages that are there come before a new job
		case m := <-in:
			if end, code := s.take(m); end {
				return code
			}
			continue
		default:
		}
		s.start()
		select {
		case m := <-in:
			if end, code := s.take(m); end {
				return code
			}
		case then := <-s.done:
			then()
		}
	}
}

// read reads messages until the first error.
func read(r io.Reader, in chan<- incoming, quit <-chan struct{}) {
	b := bufio.NewReader(r)
	for {
		body, err := readFrame(b)
		select {
		case in <- incoming{body, err}:
		case <-quit:
			return
		}
		if err != nil {
			return
		}
	}
}

// take handles a message. It reports whether it was the last one, and the exit code.
func (s *server) take(m incoming) (end bool, code int) {
	if m.err == nil {
		s.message(m.body)
		m.err = s.out.err
	}
	switch {
	case s.ended || m.err == io.EOF: // a client that is gone has asked for nothing more
		if s.phase == stopping {
			return true, 0
		}
		return true, 1
	case m.err != nil:
		fmt.Fprintf(s.cfg.Log, "xdrgen: the client's messages cannot be read further: %v\n", m.err)
		return true, 1
	}
	return false, 0
}

// stop cancels the jobs.
func (s *server) stop() {
	s.check.cancel()
	s.query.cancel()
}

// message handles one message.
func (s *server) message(body []byte) {
	m, failed := parse(body)
	switch {
	case failed != nil:
		s.out.respond(nil, nil, failed)
	case m.Method == "": // the response to a request of the server: it has nothing that is needed
	case m.ID == nil:
		s.notification(m)
	default:
		s.request(m)
	}
}

// notification handles a notification. One that is not known, or comes at a wrong time, is ignored.
func (s *server) notification(m message) {
	if m.Method == "exit" {
		s.ended = true
		return
	}
	if s.phase != running {
		return
	}
	var err error
	switch m.Method {
	case "initialized":
		s.watch()
	case "textDocument/didOpen":
		err = with(m, s.open)
	case "textDocument/didChange":
		err = with(m, s.edit)
	case "textDocument/didClose":
		err = with(m, s.closed)
	case "textDocument/didSave", "workspace/didChangeWatchedFiles":
		s.disk()
	case "workspace/didChangeWorkspaceFolders":
		err = with(m, s.folders)
	case "$/cancelRequest":
		err = with(m, s.cancel)
	}
	if err != nil {
		s.log("%s: %v", m.Method, err)
	}
}

// with decodes the parameters of a notification and calls a function with them.
func with[T any](m message, f func(T) error) error {
	p, failed := decode[T](m.Params)
	if failed != nil {
		return failed
	}
	return f(p)
}

// decode decodes the parameters of a message.
func decode[T any](params json.RawMessage) (T, *failure) {
	var p T
	if len(params) == 0 {
		params = null
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return p, fail(codeInvalidParams, "the parameters are not valid: %v", err)
	}
	return p, nil
}

// log writes a line to the client's log.
func (s *server) log(format string, args ...any) {
	const warning = 2
	s.out.notify("window/logMessage", map[string]any{"type": warning, "message": fmt.Sprintf(format, args...)})
}

// lifecycle answers the requests that begin and end a session, and those that come at a wrong time.
// It reports whether it has answered.
func (s *server) lifecycle(m message) bool {
	switch {
	case s.phase == starting && m.Method == "initialize":
		p, failed := decode[initializeParams](m.Params)
		if failed != nil {
			s.out.respond(m.ID, nil, failed)
			return true
		}
		s.client = newClient(p)
		s.phase = running
		s.out.respond(m.ID, s.capabilities(), nil)
	case s.phase == starting:
		s.out.respond(m.ID, nil, fail(codeNotInitialized, "found %q, expected initialize first", m.Method))
	case s.phase == stopping:
		s.out.respond(m.ID, nil, fail(codeInvalidRequest, "found %q after shutdown, expected exit", m.Method))
	case m.Method == "initialize":
		s.out.respond(m.ID, nil, fail(codeInvalidRequest, "found a second initialize"))
	case m.Method == "shutdown":
		s.shutdown()
		s.out.respond(m.ID, nil, nil)
	default:
		return false
	}
	return true
}

// shutdown cancels all work. Requests that wait get an error.
func (s *server) shutdown() {
	s.phase = stopping
	s.stop()
	for _, r := range s.queue {
		s.out.respond(r.id, nil, fail(codeCancelled, "the server shuts down"))
	}
	s.queue = nil
	s.units = map[string]*unit{}
}

// asFailure returns an error as the error of a response.
func asFailure(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	return fail(codeRequestFailed, "%v", err)
}
