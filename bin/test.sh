#!/usr/bin/env bash
# test.sh [--fast] [pytest arguments]   Lint, then every test but the long ones; makes what they need first.
#
# --fast: lint, and the tests that need neither servers nor Spark.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
FAST=(tests/unit tests/grammar)
SLOW=(tests/contract tests/acceptance)

stage() {
  local started=$SECONDS
  say "$1"
  shift
  "$PROJECT/.venv/bin/$1" "${@:2}"
  say "... $((SECONDS - started)) s"
}

lint() {
  stage "ruff check" ruff check
  stage "ruff format" ruff format --check
  stage "mypy" mypy
  stage "import contracts" lint-imports
}

main() {
  local folder folders=("${FAST[@]}") present=()
  cd "$PROJECT"
  need_python requirements-dev.lock
  if [ "${1:-}" = --fast ]; then
    shift
  else
    need_java
    need_both_servers
    need_canal
    need_clients
    folders+=("${SLOW[@]}")
  fi
  lint
  for folder in "${folders[@]}"; do [ ! -d "$folder" ] || present+=("$folder"); done
  say "pytest ${present[*]}"
  exec "$PYTHON" -m pytest -m "not long" --durations=10 "${present[@]}" "$@"
}

main "$@"
