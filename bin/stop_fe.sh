#!/usr/bin/env bash
# stop_fe.sh   Stops the frontend of SYNCMGR_HOME (default: this project) and waits until it has ended.
set -euo pipefail
source "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/environment.sh"
source "$PROJECT/bin/frontend.sh"
STOP_TIMEOUT_SECOND=60

main() {
  local pid
  if ! pid=$(frontend_pid); then
    say "not running"
    return
  fi
  kill -TERM "$pid"
  if ! has_ended; then
    say "pid $pid has not ended in $STOP_TIMEOUT_SECOND s: killing it; its jobs go on from their last commit at the next start"
    kill -KILL "$pid"
    has_ended || fail "pid $pid does not end"
  fi
  rm -f "$PID_FILE"
  say "stopped"
}

has_ended() {
  local deadline=$((SECONDS + STOP_TIMEOUT_SECOND))
  while frontend_pid >/dev/null; do
    ((SECONDS < deadline)) || return 1
    sleep 0.1
  done
}

main "$@"
