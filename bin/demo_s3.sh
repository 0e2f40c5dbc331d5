#!/usr/bin/env bash
# demo_s3.sh [--keep | --stop FOLDER]   The demo of demo.sh with its tables in an object store, behind a REST catalog.
#
# The store is moto, which keeps its objects in memory; the catalog is Iceberg's own REST server, on PostgreSQL. Both are for
# trying out, and made here like all else; see docs/lake.md for others. Ends with 0 only if both sides are equal.
set -euo pipefail
source "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/environment.sh"
source "$PROJECT/bin/demo_scenes.sh"

need_lake() {
  need_python requirements-dev.lock
  need_postgresql
  has_postgresql || fail "the REST catalog of this demo keeps its tables in PostgreSQL"
  need_rest_catalog
  step "fetching what Spark and the REST catalog load (the first time 130 MB)" \
    in_project -c 'from tests.support.jvm import bring_jars; bring_jars()'
}

in_project() (cd "$PROJECT" && exec "$PYTHON" "$@")

start_lake() {
  mkdir "$DEMO/lake"
  step "starting an object store, PostgreSQL and a REST catalog" launch_lake
}

launch_lake() {
  local deadline=$((SECONDS + 3 * SERVER_TIMEOUT_SECOND))
  (cd "$PROJECT" && exec setsid "$PYTHON" -m tests.support.lake_servers "$DEMO/lake") </dev/null &
  echo $! >"$DEMO/lake.pid"
  until [ -f "$DEMO/lake/fe.conf" ]; do
    if ! lake_runs || ((SECONDS > deadline)); then
      cat "$DEMO"/lake/*.log
      return 1
    fi
    sleep 0.1
  done
}

lake_runs() { kill -0 "$(cat "$DEMO/lake.pid")" 2>/dev/null; }

lake_settings() { cat "$DEMO/lake/fe.conf"; }

# It ends once all its servers have.
stop_lake() {
  local deadline=$((SECONDS + SERVER_TIMEOUT_SECOND))
  [ -f "$DEMO/lake.pid" ] || return 0
  kill "$(cat "$DEMO/lake.pid")" 2>/dev/null || return 0
  while lake_runs && ((SECONDS <= deadline)); do sleep 0.1; done
}

demo "$@"
