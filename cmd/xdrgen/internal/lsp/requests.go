package lsp

import (
	"context"
	"encoding/json"
	"slices"
)

// request is a request that may have to wait.
type request struct {
	id   json.RawMessage
	unit *unit // whose analysis it needs, or nil

	// now answers from the analysis, which may be nil. Its result may be a job.
	now func(*analysis) (any, error)
	job job // that answers; nil until it is known

	document *document // whose text the answer changes, and that text; or nil
	text     *text
}

// job answers a request on its own goroutine.
type job func(context.Context) (any, error)

// request handles a request.
func (s *server) request(m message) {
	if s.lifecycle(m) {
		return
	}
	r := &request{id: m.ID}
	var err error
	switch m.Method {
	case "textDocument/hover":
		err = s.about(r, m, s.hover)
	case "textDocument/definition":
		err = s.about(r, m, s.definition)
	case "textDocument/references":
		err = s.about(r, m, s.references)
	case "textDocument/codeAction":
		err = s.about(r, m, s.actions)
	case "textDocument/documentSymbol":
		err = s.about(r, m, s.symbols)
	case "textDocument/completion":
		err = s.about(r, m, s.completion)
	case "workspace/symbol":
		err = s.workspaceSymbols(r, m)
	case "textDocument/formatting":
		err = s.formatting(r, m)
	default:
		err = fail(codeMethodNotFound, "found the request %.64q, which is not supported", m.Method)
	}
	if err != nil {
		s.out.respond(m.ID, nil, asFailure(err))
		return
	}
	s.queue = append(s.queue, r)
}

// query is a question about a place in an open document.
type query struct {
	analysis *analysis
	view     *view // of the document
	offset   int   // in the view's file
	params   place
	document *document
}

// about makes a request of a question that is answered from the analysis of a document's unit. The
// answer is null if the unit does not have the document.
func (s *state) about(r *request, m message, answer func(query) (any, error)) error {
	p, failed := decode[place](m.Params)
	if failed != nil {
		return failed
	}
	d, err := s.texts.find(p.TextDocument.URI)
	if err != nil {
		return err
	}
	r.unit = d.unit
	r.now = func(a *analysis) (any, error) {
		if a == nil {
			return nil, nil
		}
		f := a.file(d.path)
		if f == nil {
			return nil, nil
		}
		v := a.view(f)
		return answer(query{analysis: a, view: v, offset: v.offset(p.Position, s.client.encoding), params: p, document: d})
	}
	return nil
}

// answer answers a request, or starts the job that does. It reports false if the request has to
// wait.
func (s *server) answer(r *request) bool {
	if r.job == nil {
		var a *analysis
		if u := r.unit; u != nil && s.units[u.key] == u {
			if !u.fresh() {
				return false
			}
			a = u.analysis
		}
		result, err := r.now(a)
		later, ok := result.(job)
		if !ok {
			s.respond(r, result, err)
			return true
		}
		r.job = later
	}
	if s.query.end != nil {
		return false
	}
	s.run(&s.query, func(ctx context.Context) func() {
		result, err := r.job(ctx)
		if ctx.Err() != nil {
			err = fail(codeCancelled, "the request was cancelled")
		}
		return func() {
			s.query = lane{}
			s.respond(r, result, err)
		}
	})
	s.query.id = string(r.id)
	return true
}

// respond responds to a request.
func (s *server) respond(r *request, result any, err error) {
	if r.document != nil && r.document.text != r.text && err == nil {
		err = fail(codeModified, "the text has changed since")
	}
	if err != nil {
		s.out.respond(r.id, nil, asFailure(err))
		return
	}
	s.out.respond(r.id, result, nil)
}

// cancelParams is the parameters of $/cancelRequest.
type cancelParams struct {
	ID json.RawMessage `json:"id"`
}

// cancel handles $/cancelRequest. A request that was answered is not known any more.
func (s *server) cancel(p cancelParams) error {
	same := func(r *request) bool { return string(r.id) == string(p.ID) }
	if i := slices.IndexFunc(s.queue, same); i >= 0 {
		s.out.respond(s.queue[i].id, nil, fail(codeCancelled, "the request was cancelled"))
		s.queue = slices.Delete(s.queue, i, i+1)
	}
	if s.query.end != nil && s.query.id == string(p.ID) {
		s.query.cancel()
	}
	return nil
}
