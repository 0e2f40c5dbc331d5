#!/usr/bin/env bash
# start_fe.sh [--daemon]   Starts the frontend of SYNCMGR_HOME (default: this project); makes what it needs first.
#
# In the foreground until Ctrl-C; with --daemon in the background: log/fe.log, log/fe.out, run/fe.pid.
# Ends with 0 started or already running, 1 could not start, 2 fe.conf is wrong.
set -euo pipefail
source "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/environment.sh"
source "$PROJECT/bin/frontend.sh"
OUT_FILE=$SYNCMGR_HOME/log/fe.out
START_TIMEOUT_SECOND=60

main() {
  local daemon=${1:-} pid port
  [[ $# -le 1 && ($daemon = "" || $daemon = --daemon) ]] || fail "usage: start_fe.sh [--daemon]"
  need_python requirements.lock
  port=$(query_port)
  if pid=$(frontend_pid); then
    port_is_open "$port" || fail "already starting (pid $pid), port $port is not open yet; see $SYNCMGR_HOME/log"
    say "already running (pid $pid). Connect: $(how_to_connect "$port")"
    return
  fi
  need_java
  umask 077 # not before: what is installed above is for every user of this machine
  mkdir -p "$SYNCMGR_HOME/run" "$SYNCMGR_HOME/log"
  cd "$SYNCMGR_HOME"
  if [ "$daemon" = --daemon ]; then
    start_daemon "$port"
  else
    echo $$ >"$PID_FILE"
    exec "$PYTHON" -m syncmgr --conf "$CONF"
  fi
}

start_daemon() {
  local port=$1 pid deadline=$((SECONDS + START_TIMEOUT_SECOND))
  ! port_is_open "$port" || fail "port $port is in use by another program; set query_port in $CONF"
  setsid "$PYTHON" -m syncmgr --conf "$CONF" >"$OUT_FILE" 2>&1 </dev/null &
  pid=$!
  echo "$pid" >"$PID_FILE"
  until port_is_open "$port"; do
    kill -0 "$pid" 2>/dev/null || not_started "$pid"
    ((SECONDS < deadline)) || still_starting "$pid" "$port"
    sleep 0.1
  done
  say "running (pid $pid). Connect: $(how_to_connect "$port")"
}

still_starting() {
  fail "port $2 is not open after $START_TIMEOUT_SECOND s, and the frontend (pid $1) goes on starting; see" \
    "$SYNCMGR_HOME/log, or end it by stop_fe.sh"
}

not_started() {
  local status=0
  wait "$1" || status=$?
  rm -f "$PID_FILE"
  tail -n 20 "$OUT_FILE" >&2
  say "the frontend did not start; see $SYNCMGR_HOME/log"
  exit $((status ? status : 1))
}

main "$@"
