set -eu -o pipefail
shopt -s inherit_errexit
set -o functrace
trap 'echo; echo "=== end of the shell"' EXIT

# await_servers waits until every crd-server that runs in the background is ready. The wrapper crd-server.sh keeps what
# each has printed in a file that has its process ID as its name.
await_servers() {
  local pid
  for pid in $(jobs -rl | sed -n 's/^\[[0-9]*\][-+ ]* *\([0-9]*\) Running  *\(bin\/\)\{0,1\}crd-server .*/\1/p'); do
    while kill -0 "$pid" 2>/dev/null && ! grep -q 'crd-server is ready' "$STARTED/$pid" 2>/dev/null; do
      sleep 0.02
    done
  done
}
trap '[ "$BASH_SUBSHELL" -gt 0 ] || await_servers' DEBUG
