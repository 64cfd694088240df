#!/bin/bash
# Runs crd-server. What a server prints goes to files for await_servers in preamble.sh, and not between the output of
# other commands.
case "${1-}" in
version | help | check | completion | man | --version | --help) exec %[1]s "$@" ;;
esac
if [ /dev/stdout -ef "/proc/$PPID/fd/1" ]; then
  exec %[1]s "$@" >"$STARTED/$$" 2>"$STARTED/$$.log"
fi
exec %[1]s "$@" > >(tee "$STARTED/$$")
