package fault

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// action is the kind of a request.
type action string

const (
	create action = "create"
	update action = "update" // with the resourceVersion it was made for
	patch  action = "patch"  // without one
	apply  action = "apply"  // makes what is missing
	remove action = "delete"
	get    action = "get"
	list   action = "list" // in the history of a key: its state in the list
)

// operation is a request and its response.
type operation struct {
	client int
	action action
	key    string
	// value is what a write writes, always a new one, or what a read returns.
	value string
	// condition is the resourceVersion of an update.
	condition int64
	// code is the status of the response, or 0 if there was none or one that leaves open whether the write was done.
	code int
	// revision is that of the object or of the list.
	revision int64
	// items are the objects of a list.
	items map[string]object
	// begun and ended are nanoseconds since the history began.
	begun, ended int64
}

func (o *operation) String() string {
	return fmt.Sprintf("client %d: %s %s %q if %d: %d, revision %d, %s to %s",
		o.client, o.action, o.key, o.value, o.condition, o.code, o.revision, time.Duration(o.begun),
		time.Duration(o.ended))
}

// doubtful returns whether the client does not know if the write was done.
func (o *operation) doubtful() bool { return o.code == 0 }

// done returns whether the write was acknowledged.
func (o *operation) done() bool { return o.code == http.StatusOK || o.code == http.StatusCreated }

// change is an entry of etcd's log.
type change struct {
	key      string
	revision int64
	// exists is true if the change set the value, and false if it deleted the object.
	exists bool
	value  string
}

// cell is the state of a key. An object that does not exist is cell{}.
type cell struct {
	exists   bool
	value    string
	revision int64
}

// keyLog is etcd's log of one key, which begins without an object.
type keyLog []change

// model defines how a key behaves: the state transitions that an operation may make. States are positions in the log,
// which has the order of all writes; reads, refusals and deletions have to fit in.
func (l keyLog) model() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{0} },
		Step: func(state, input, _ any) []any {
			var next []any
			for _, place := range l.steps(state.(int), input.(*operation)) {
				next = append(next, place)
			}
			return next
		},
		DescribeOperation: func(input, _ any) string { return input.(*operation).String() },
	}
	return m.ToModel()
}

// at returns the state of the key after a number of changes.
func (l keyLog) at(place int) cell {
	if place == 0 || !l[place-1].exists {
		return cell{}
	}
	return cell{exists: true, value: l[place-1].value, revision: l[place-1].revision}
}

// steps returns the possible positions in the log after the operation, none if the response is impossible.
func (l keyLog) steps(place int, o *operation) []int {
	var following change // its revision is 0 at the end
	if place < len(l) {
		following = l[place]
	}
	c, deletes := l.at(place), following.revision > 0 && !following.exists
	stays := func(possible bool) []int {
		if possible {
			return []int{place}
		}
		return nil
	}
	goesOn := func(possible bool) []int {
		if possible {
			return []int{place + 1}
		}
		return nil
	}
	writes := following.exists && following.revision == o.revision && following.value == o.value
	switch {
	case o.action == remove && o.doubtful():
		return append(stays(true), goesOn(deletes)...)
	case o.action == remove && o.done():
		return goesOn(deletes)
	case o.code == http.StatusNotFound:
		return stays(!c.exists)
	case o.action == get:
		return stays(c == cell{exists: true, value: o.value, revision: o.revision})
	case o.code == http.StatusConflict && o.action == create:
		return stays(c.exists)
	case o.code == http.StatusConflict && o.action == update:
		return stays(c.exists && c.revision != o.condition)
	case o.action == create, o.action == apply && o.code == http.StatusCreated:
		return goesOn(writes && !c.exists)
	case o.action == update:
		return goesOn(writes && c.exists && c.revision == o.condition)
	case o.action == patch, o.action == apply && o.code == http.StatusOK:
		return goesOn(writes && c.exists)
	case o.action == apply: // known from the log only
		return goesOn(writes)
	}
	return nil
}

// judgement compares a history with etcd's log.
type judgement struct {
	operations []*operation
	log        []change
	// faults describes the contradictions.
	faults []string
}

// check returns all contradictions.
func (j *judgement) check() []string {
	j.settle()
	j.checkLists()
	j.checkLinear()
	return j.faults
}

func (j *judgement) fault(format string, args ...any) {
	j.faults = append(j.faults, fmt.Sprintf(format, args...))
}

// settle finds each acknowledged write once in the log, and a request for each change in the log. For a request
// without a response, the log decides whether it was done.
func (j *judgement) settle() {
	byValue := map[string]change{}
	deletions := map[string]int{}
	for _, c := range j.log {
		if !c.exists {
			deletions[c.key]++
			continue
		}
		if other, twice := byValue[c.value]; twice {
			j.fault("%+v is written again in %+v", other, c)
		}
		byValue[c.value] = c
	}
	possible := map[string]int{}
	j.operations = slices.DeleteFunc(j.operations, func(o *operation) bool {
		switch {
		case o.action == get || o.action == list:
			return o.doubtful()
		case o.action == remove:
			if o.done() {
				deletions[o.key]--
			} else if o.doubtful() {
				possible[o.key]++
				o.ended = math.MaxInt64
			}
			return false
		case o.done():
			if c := byValue[o.value]; c.revision != o.revision || c.key != o.key {
				j.fault("acknowledged, but the log has %+v: %s", c, o)
			}
		case o.doubtful():
			c, done := byValue[o.value]
			if !done {
				return true
			}
			o.revision, o.ended, o.code = c.revision, math.MaxInt64, known
		default: // refused
			if c, done := byValue[o.value]; done {
				j.fault("refused, but the log has %+v: %s", c, o)
			}
			return false
		}
		delete(byValue, o.value)
		return false
	})
	for _, c := range byValue {
		j.fault("nobody has written %+v", c)
	}
	for key, n := range deletions {
		if n < 0 || n > possible[key] {
			j.fault("%s: %d deletions more than were acknowledged, %d had no answer", key, n, possible[key])
		}
	}
}

// known is the code of a write without a response that is in the log.
const known = -1

// checkLists compares each list with the state in the log at its revision, which must not be older than the writes
// acknowledged before the list began.
func (j *judgement) checkLists() {
	var acknowledged []*operation
	for _, o := range j.operations {
		if o.done() && o.revision > 0 {
			acknowledged = append(acknowledged, o)
		}
	}
	for _, o := range j.operations {
		if o.action != list || !o.done() {
			continue
		}
		state := map[string]cell{}
		for _, c := range j.log {
			if c.revision > o.revision {
				break
			}
			state[c.key] = cell{exists: c.exists, value: c.value, revision: c.revision}
		}
		for key, c := range state {
			item, listed := o.items[key]
			if listed != c.exists || listed && (item.Spec.Value != c.value || item.revision() != c.revision) {
				j.fault("%s: %s is %+v in the list, %+v in the log", o, key, item, c)
			}
		}
		for _, a := range acknowledged {
			if a.ended < o.begun && a.revision > o.revision {
				j.fault("older than what was acknowledged before: %s: %s", o, a)
			}
		}
	}
}

// checkLinear looks for an order of all operations of a key, consistent with the log, in which every response is
// right.
func (j *judgement) checkLinear() {
	byKey := map[string][]porcupine.Operation{}
	for _, o := range j.operations {
		if o.action != list {
			byKey[o.key] = append(byKey[o.key], porcupine.Operation{ClientId: o.client, Input: o, Call: o.begun,
				Return: o.ended})
		}
	}
	for _, o := range j.operations {
		if o.action != list || !o.done() {
			continue
		}
		for key := range byKey {
			found := &operation{client: o.client, action: get, key: key, code: http.StatusNotFound, begun: o.begun,
				ended: o.ended}
			if item, listed := o.items[key]; listed {
				found.code, found.value, found.revision = http.StatusOK, item.Spec.Value, item.revision()
			}
			byKey[key] = append(byKey[key], porcupine.Operation{ClientId: o.client, Input: found, Call: o.begun,
				Return: o.ended})
		}
	}
	logs := map[string]keyLog{}
	for _, c := range j.log {
		logs[c.key] = append(logs[c.key], c)
	}
	for key, operations := range byKey {
		switch porcupine.CheckOperationsTimeout(logs[key].model(), operations, time.Minute) {
		case porcupine.Illegal:
			j.fault("%s: no order of its %d operations gives the answers they had", key, len(operations))
			for _, o := range operations {
				j.fault("%s: of these: %s", key, o.Input)
			}
		case porcupine.Unknown:
			j.fault("%s: the check of its %d operations was not done in time", key, len(operations))
		}
	}
}
