# shellcheck shell=bash
# Where a frontend lives and whether it runs.
# Owns: the folders of SYNCMGR_HOME, the pid file, the port.
# Must not know: how a frontend is started or stopped.
# Sourced after environment.sh.

SYNCMGR_HOME=${SYNCMGR_HOME:-$PROJECT}
CONF=$SYNCMGR_HOME/conf/fe.conf
PID_FILE=$SYNCMGR_HOME/run/fe.pid

# The pid of the running frontend; status 1 where none runs. A pid file outlives a crash, and its number may be another's now.
frontend_pid() {
  local pid
  pid=$(cat "$PID_FILE" 2>/dev/null) || return 1
  tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -q -- '-m syncmgr ' || return 1
  echo "$pid"
}

# run_on_folder COMMAND FOLDER   A command of the program that saves into a folder, or brings back from it; does not return.
run_on_folder() {
  [[ $# = 2 ]] || fail "usage: $1_fe.sh FOLDER"
  need_python requirements.lock
  exec "$PYTHON" -m syncmgr "$1" "$2" --conf "$CONF"
}

how_to_connect() { echo "$(client_name) -h 127.0.0.1 -P $1 -u root"; }

# Ends with the frontend's own list of mistakes where fe.conf is wrong.
query_port() {
  "$PYTHON" - "$CONF" <<'PYTHON'
import sys
from pathlib import Path
from syncmgr.config import settings
from syncmgr.errors import SyncError

try:
    print(settings.read(Path(sys.argv[1])).number("query_port"))
except SyncError as error:
    sys.stderr.write(f"{error}\n")
    sys.exit(2)
PYTHON
}
