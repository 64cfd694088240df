package e2e

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/crd-server/crd-server/test/process"
	"github.com/crd-server/crd-server/test/programs"
)

// carelessly starts a server from a shell with umask 0, and keeps its log in a file.
func carelessly(t *testing.T, args ...string) (server *process.Server, log string) {
	t.Helper()
	log = filepath.Join(t.TempDir(), "log")
	script := filepath.Join(t.TempDir(), "crd-server")
	content := fmt.Sprintf("#!/bin/sh\numask 0\nexec '%s' \"$@\" 2>'%s'\n", programs.Server(), log)
	if err := os.WriteFile(script, []byte(content), 0o700); err != nil {
		t.Fatal(err)
	}
	server, err := process.Start(t.Context(), process.Options{Binary: script,
		DataDir: filepath.Join(t.TempDir(), "data"), Args: args})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Errorf("the server did not stop cleanly: %v", err)
		}
	})
	return server, log
}

// TestFiles checks the permissions of all files of the server.
func TestFiles(t *testing.T) {
	t.Parallel()
	server, _ := carelessly(t)
	installSamples(t, server)
	files := 0
	err := filepath.WalkDir(server.DataDir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		files++
		want := fs.FileMode(0o600)
		if entry.IsDir() {
			want = fs.ModeDir | 0o700
		}
		if info.Mode() != want {
			t.Errorf("%s is %v, not %v", path, info.Mode(), want)
		}
		return nil
	})
	if err != nil || files < 10 {
		t.Errorf("%d files: %v", files, err)
	}
}

// TestListening checks that the process, and the etcd in it, listen on nothing but the port.
func TestListening(t *testing.T) {
	t.Parallel()
	server := run(t)
	if _, err := os.Stat("/proc/self/net/tcp"); err != nil {
		t.Skip("no /proc")
	}
	sockets := socketsOf(t, server)
	if len(sockets) == 0 {
		t.Fatal("the process has no sockets")
	}
	ours := fmt.Sprintf("0100007F:%04X", server.Port())
	var listening []string
	for _, kind := range []string{"tcp", "tcp6", "udp", "udp6"} {
		for _, fields := range table(t, server, kind) {
			const listen, address, state, inode = "0A", 1, 3, 9
			if sockets[fields[inode]] && (fields[state] == listen || strings.HasPrefix(kind, "udp")) {
				listening = append(listening, kind+" "+fields[address])
			}
		}
	}
	for _, fields := range table(t, server, "unix") {
		const accepts, flags, inode = 0x10000, 3, 6
		if set, err := strconv.ParseUint(fields[flags], 16, 32); err == nil && set&accepts != 0 &&
			sockets[fields[inode]] {
			listening = append(listening, "unix "+strings.Join(fields[inode+1:], " "))
		}
	}
	if len(listening) != 1 || listening[0] != "tcp "+ours {
		t.Errorf("the process listens at %q, not only at tcp %s", listening, ours)
	}
}

// socketsOf returns the inodes of the sockets of a process.
func socketsOf(t *testing.T, server *process.Server) map[string]bool {
	t.Helper()
	folder := fmt.Sprintf("/proc/%d/fd", server.Pid())
	descriptors, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	inodes := map[string]bool{}
	for _, descriptor := range descriptors {
		link, err := os.Readlink(filepath.Join(folder, descriptor.Name()))
		if err != nil {
			continue // closed meanwhile
		}
		if inode, ok := strings.CutPrefix(link, "socket:["); ok {
			inodes[strings.TrimSuffix(inode, "]")] = true
		}
	}
	return inodes
}

// table reads the kernel's table of a kind of sockets, split into fields, without its header.
func table(t *testing.T, server *process.Server, kind string) (lines [][]string) {
	t.Helper()
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", server.Pid(), kind))
	if err != nil {
		t.Fatal(err)
	}
	scanner := bufio.NewScanner(bytes.NewReader(content))
	for scanner.Scan() {
		lines = append(lines, strings.Fields(scanner.Text()))
	}
	return lines[1:]
}

// TestLogs runs the server with the highest log level and searches the log for secrets.
func TestLogs(t *testing.T) {
	t.Parallel()
	const token, password = "a-token-that-nobody-must-see", "YWRtaW46YS1wYXNzd29yZC10aGF0LW5vYm9keS1tdXN0LXNlZQ=="
	tokens := filepath.Join(t.TempDir(), "tokens.csv")
	const known = "a-known-token-that-nobody-must-see"
	if err := os.WriteFile(tokens, []byte(known+`,robot,1,"system:masters"`), 0o600); err != nil {
		t.Fatal(err)
	}
	encryption := filepath.Join(t.TempDir(), "encryption.yaml")
	if err := os.WriteFile(encryption, []byte(encrypting), 0o600); err != nil {
		t.Fatal(err)
	}
	server, log := carelessly(t, "-v=10", "--token-auth-file", tokens, "--encryption-provider-config", encryption)
	installSamples(t, server)
	config := adminConfig(t, server)
	for _, header := range []string{"Bearer " + token, "Basic " + password, "Bearer " + known} {
		ask(t, server, header)
	}
	livesOn(t, server)
	logged, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if len(logged) < 10_000 {
		t.Fatalf("the server has hardly logged anything:\n%s", logged)
	}
	secrets := map[string][]byte{
		"a token": []byte(token), "a known token": []byte(known), "a password": []byte(password),
		"a private key":                     []byte("PRIVATE KEY"),
		"the key of what is stored":         []byte(encryptionKey),
		"the admin's key":                   config.KeyData,
		"the admin's key in the kubeconfig": base64.StdEncoding.AppendEncode(nil, config.KeyData),
	}
	for name, secret := range secrets {
		for line := range bytes.Lines(secret) {
			if line = bytes.TrimSpace(line); len(line) > 10 && !bytes.HasPrefix(line, []byte("-----")) &&
				bytes.Contains(logged, line) {
				t.Errorf("%s is logged: %s", name, line)
			}
		}
	}
}

// ask sends a request with an Authorization header and no other credential.
func ask(t *testing.T, server *process.Server, authorization string) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", server.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(rest.AnonymousClientConfig(config))
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		server.URL+"/apis/stable.example.com/v1/crontabs", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", authorization)
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}
