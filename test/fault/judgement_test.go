package fault

import (
	"net/http"
	"slices"
	"testing"
)

// TestJudgement checks the checks: a right history has no faults, and each altered one has some.
func TestJudgement(t *testing.T) {
	if faults := rightHistory().check(); len(faults) > 0 {
		t.Fatalf("a right history has faults: %q", faults)
	}
	for name, spoil := range map[string]func(j *judgement){
		"acknowledged write is lost": func(j *judgement) { j.log = slices.Delete(j.log, 1, 2) },
		"write is done twice": func(j *judgement) {
			j.log = append(j.log,
				change{key: "a", revision: 9, exists: true, value: "2"})
		},
		"nobody has written it": func(j *judgement) {
			j.log = append(j.log,
				change{key: "a", revision: 9, exists: true, value: "x"})
		},
		"nobody has deleted it":       func(j *judgement) { j.log = append(j.log, change{key: "b", revision: 9}) },
		"acknowledged delete is lost": func(j *judgement) { j.log = slices.Delete(j.log, 2, 3) },
		"refused write was done":      func(j *judgement) { j.operations[1].code = http.StatusConflict },
		"another revision":            func(j *judgement) { j.operations[1].revision = 7 },
		"stale read":                  func(j *judgement) { j.operations[2].value, j.operations[2].revision = "1", 2 },
		"read of what is deleted":     func(j *judgement) { j.operations[4].code = http.StatusOK },
		"conflict where there is none": func(j *judgement) {
			j.operations[5].condition, j.operations[5].code = 5,
				http.StatusConflict
		},
		"list without an object": func(j *judgement) { delete(j.operations[6].items, "b") },
		"list of an older state": func(j *judgement) {
			item := object{}
			item.Metadata.Name, item.Metadata.ResourceVersion, item.Spec.Value = "a", "2", "1"
			j.operations[6].revision, j.operations[6].items = 2, map[string]object{"a": item}
		},
	} {
		t.Run(name, func(t *testing.T) {
			j := rightHistory()
			spoil(j)
			if len(j.check()) == 0 {
				t.Error("it was not noticed")
			}
		})
	}
}

// rightHistory is sequential, except for a write without a response that was done, and one that was not.
func rightHistory() *judgement {
	item := object{}
	item.Metadata.Name, item.Metadata.ResourceVersion, item.Spec.Value = "b", "5", "3"
	j := &judgement{
		operations: []*operation{
			{action: create, key: "a", value: "1", code: http.StatusCreated, revision: 2},
			{action: patch, key: "a", value: "2", code: http.StatusOK, revision: 3},
			{action: get, key: "a", value: "2", code: http.StatusOK, revision: 3},
			{action: remove, key: "a", code: http.StatusOK},
			{action: get, key: "a", code: http.StatusNotFound},
			{action: update, key: "b", value: "4", condition: 4, code: http.StatusNotFound},
			{action: list, code: http.StatusOK, revision: 5, items: map[string]object{"b": item}},
			{action: apply, key: "c", value: "5"},
		},
		log: []change{
			{key: "a", revision: 2, exists: true, value: "1"},
			{key: "a", revision: 3, exists: true, value: "2"},
			{key: "a", revision: 4},
			{key: "b", revision: 5, exists: true, value: "3"},
		},
	}
	for i, o := range j.operations {
		o.begun, o.ended = int64(10*i), int64(10*i+5)
	}
	// It was sent before the list, and after the update was answered.
	j.operations = append(j.operations, &operation{action: create, key: "b", value: "3", begun: 56, ended: 58})
	return j
}
