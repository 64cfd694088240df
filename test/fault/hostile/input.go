package hostile

import "time"

// Input is what a client sends to a server without custom resources.
type Input struct {
	// Prepare is sent first; its cost is not measured.
	Prepare []Request
	// Phases are sent one after the other.
	Phases []Phase
	// Budget is how many bytes of memory the server may take for the input.
	Budget int64
	// Stored is the size of the objects that requests read, if it is not small.
	Stored int64
}

// Phase is a part of an input: one request, or several.
type Phase struct {
	Name     string
	Requests []Request
	// Clients is the number of clients that send the requests; 0 is one.
	Clients int
	// Over is the time over which the requests are spread.
	Over time.Duration
	// Essential ends the input if a request of the phase is refused.
	Essential bool
}

// Request is a request. In its body, VersionPlaceholder stands for the resourceVersion that the server has returned
// last.
type Request struct {
	Method, Path string
	// ContentType and Accept are headers; "" is JSON.
	ContentType, Accept string
	// Encoding is the Content-Encoding of the body.
	Encoding string
	Body     []byte
	// Until repeats the request until the server answers with this status, unless it is 0.
	Until int
}

// VersionPlaceholder is replaced in bodies; see Request.
const VersionPlaceholder = "RESOURCE-VERSION"

// Size returns the number of bytes that a client chooses: those of the path, the header and the body.
func (r *Request) Size() int64 { return int64(len(r.Path) + len(r.Accept) + len(r.Body)) }

// Largest returns the size of the largest request of the input.
func (i *Input) Largest() (size int64) {
	i.each(func(r *Request) { size = max(size, r.Size()) })
	return size
}

// Size returns the size of all requests of the input, and of the objects that they read.
func (i *Input) Size() int64 {
	size := i.Stored
	i.each(func(r *Request) { size += r.Size() })
	return size
}

// Requests returns the number of requests of the input.
func (i *Input) Requests() (n int) {
	i.each(func(*Request) { n++ })
	return n
}

func (i *Input) each(do func(*Request)) {
	for _, p := range i.Phases {
		for n := range p.Requests {
			do(&p.Requests[n])
		}
	}
}

// Budgets of memory, in bytes.
const (
	// floor is what every request may take.
	floor = 64 << 20
	// requestFactor and definitionFactor are the multiples of a body, and of a definition that is used.
	requestFactor, definitionFactor = 32, 64
	// mixBudget is the memory for any number of requests at once.
	mixBudget = 960 << 20
)

// requests returns an input of requests one after the other. The budget is that of the largest.
func requests(prepare []Request, phases ...Phase) *Input {
	i := &Input{Prepare: prepare, Phases: phases}
	i.Budget = BudgetOf(i.Largest())
	return i
}

// BudgetOf returns the budget of a request of so many bytes, or of a response of so many.
func BudgetOf(size int64) int64 { return floor + requestFactor*size }

// Phases that read what other phases write. The budget of an input depends on the size of what they read, which
// aliases in YAML can make much larger than the requests.
const (
	GetObject  = "get"
	ListAsYAML = "list as YAML"
)

// one returns a phase of one request.
func one(name string, r Request) Phase { return Phase{Name: name, Requests: []Request{r}} }
