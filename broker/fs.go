package broker

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/loomext/loomext/broker/workspace"
	"github.com/loomext/loomext/internal/wire"
)

func (i *Invocation) fsRead(ctx context.Context, a *arguments) (wire.Value, *refusal) {
	path := a.text("path")
	w, refused := i.workspace(a)
	if refused != nil {
		return wire.Value{}, refused
	}
	contents, err := w.Read(ctx, path)
	if err != nil {
		return wire.Value{}, i.notDone(err)
	}
	return wire.Map(wire.Field{Key: "contents", Value: wire.String(contents)}), nil
}

func (i *Invocation) fsList(ctx context.Context, a *arguments) (wire.Value, *refusal) {
	path := a.text("path")
	w, refused := i.workspace(a)
	if refused != nil {
		return wire.Value{}, refused
	}
	found, err := w.List(ctx, path)
	if err != nil {
		return wire.Value{}, i.notDone(err)
	}
	entries := make([]wire.Value, 0, len(found))
	for _, e := range found {
		entries = append(entries, wire.Map(wire.Field{Key: "name", Value: wire.String(e.Name)}, wire.Field{Key: "is_dir", Value: wire.Bool(e.IsDir)}))
	}
	return wire.Map(wire.Field{Key: "entries", Value: wire.List(entries...)}), nil
}

func (i *Invocation) fsWrite(ctx context.Context, a *arguments) (wire.Value, *refusal) {
	path, contents := a.text("path"), a.text("contents")
	w, refused := i.workspace(a)
	if refused != nil {
		return wire.Value{}, refused
	}
	if err := w.Write(ctx, path, contents); err != nil {
		return wire.Value{}, i.notDone(err)
	}
	return wire.Map(), nil
}

func (i *Invocation) fsEdit(ctx context.Context, a *arguments) (wire.Value, *refusal) {
	path := a.text("path")
	var edits []workspace.Edit
	count := a.maps("edits", workspace.MaxEdits, func(item *arguments) {
		edits = append(edits, workspace.Edit{Find: item.text("find"), ReplaceWith: item.text("replace_with")})
	})
	w, refused := i.workspace(a)
	if refused != nil {
		return wire.Value{}, refused
	}
	if count > workspace.MaxEdits { // the rest was not read
		return wire.Value{}, invalid("there are " + strconv.Itoa(count) + " edits; want 1 to " + strconv.Itoa(workspace.MaxEdits))
	}
	if err := w.Edit(ctx, path, edits); err != nil {
		return wire.Value{}, i.notDone(err)
	}
	return wire.Map(), nil
}

// workspace is the session's, for a call whose arguments have all been read.
func (i *Invocation) workspace(a *arguments) (*workspace.Workspace, *refusal) {
	if refused := a.refused(); refused != nil {
		return nil, refused
	}
	if i.scope.terms.Workspace == nil {
		return nil, denied("this session has no workspace; the operator gives one with --workspace")
	}
	return i.scope.terms.Workspace, nil
}

// fileCodes are the words that a workspace refuses with.
var fileCodes = []string{
	wire.CodeInvalidArgument, wire.CodeNotFound, wire.CodePermissionDenied, wire.CodeWrongKind, wire.CodeStaleContent,
	wire.CodeTooLarge, wire.CodeUnavailable, wire.CodeDeadline, wire.CodeCancelled,
}

// notDone is the refusal of a call that a workspace did not do. What is wrong with the disk is the operator's to know.
func (i *Invocation) notDone(err error) *refusal {
	e, ok := errors.AsType[*workspace.Error](err)
	if !ok || !slices.Contains(fileCodes, e.Code) {
		return unavailable("the file system failed") // what is not the workspace's own text is not repeated
	}
	if e.Code == wire.CodeUnavailable {
		i.scope.broker.log.Warn("a file was not reached", "extension", i.scope.terms.Extension, "op", e.Op, "error", e.Err)
	}
	return &refusal{e.Code, e.Msg}
}
