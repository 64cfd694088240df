// Package port chooses ports for programs that cannot choose one themselves, or that a test starts more than once.
package port

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// Systems choose ports from 32768 on for connections and for listeners on port 0. A port below stays free until the
// program listens on it, and while the program is started again.
const (
	lowest  = 10000
	highest = 29999
)

// chosen holds the ports that were returned, so that none is returned twice.
var chosen sync.Map

// Free returns a port of the loopback address on which nothing listens. It returns each port once in a process.
func Free() (int, error) {
	for range highest - lowest {
		port := lowest + rand.IntN(highest-lowest+1)
		if _, taken := chosen.LoadOrStore(port, true); taken {
			continue
		}
		listener, err := net.Listen("tcp", Address(port))
		if err != nil {
			continue // another program listens on it
		}
		return port, listener.Close()
	}
	return 0, errors.New("no port is free")
}

// Address returns the loopback address with a port.
func Address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
