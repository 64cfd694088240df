package filters

import "testing"

// TestEndOfRequests checks that a draining server knows when the last request has ended.
func TestEndOfRequests(t *testing.T) {
	t.Parallel()
	d := NewDrain()
	if err := d.requests.Add(1); err != nil {
		t.Fatal(err)
	}
	if err := d.watches.Add(1); err != nil {
		t.Fatal(err)
	}
	ended := d.End()
	d.watches.Done()
	select {
	case <-ended:
		t.Error("a request is in flight")
	default:
	}
	d.requests.Done()
	<-ended
}
