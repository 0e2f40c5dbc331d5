#!/usr/bin/env bash
# test.sh [--fast | --long] [pytest arguments but -m and paths]   Lint, types and the tests, side by side; makes what they need first.
#
# Every test but the long and slow ones, in five parts: lint; the tests that need no servers; those that start no JVM of
# Spark; those of the lake; those of whole frontends; each of these in several processes.  A line begins with the name of its part.
# Up to three tests that failed are run once more, alone.  At the end: the slowest tests, what failed, and what was unsteady.
# --fast: lint, and the tests that need neither servers nor Spark.
# --long: the long and slow tests, and the tests of Hypothesis on new random examples.
set -euo pipefail
source "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/environment.sh"
REPORTS=$(mktemp -d)
PARTS=() # process ids
case ${1:-} in
  --fast | --long) GIVEN=${*:2} ;;
  *) GIVEN=$* ;; # arguments of pytest
esac
export SYNCMGR_TEST_RUN=$$
# A run starts some hundred processes, each of which would compile all modules of ours.
unset PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX=$PRIVATE/bytecode
trap 'rm -rf "$REPORTS" && end_leftovers' EXIT
trap 'trap "" INT TERM HUP && end_parts && exit 130' INT TERM HUP

# Servers of a run that was cut short: all that it started has its number in the environment.
end_leftovers() {
  local folder
  for folder in /proc/[0-9]*; do
    ! grep -qsz "^SYNCMGR_TEST_RUN=$$\$" "$folder/environ" || kill -9 "${folder#/proc/}" 2>/dev/null || true
  done
}

# Each part has marks and folders of its own: others would add tests to a part, or leave all of them.
check_arguments() {
  local argument
  for argument in "$@"; do
    case $argument in
      --help | -h | --fast | --long) fail "usage: test.sh [--fast | --long] [pytest arguments but -m and paths]" ;;
      -m*) fail "marks are those of the parts; for others: .venv/bin/python -m pytest -m ..." ;;
      */*) ! is_test "${argument%%::*}" || fail "a folder or file is run by: .venv/bin/python -m pytest $argument" ;;
    esac
  done
}

is_test() { [[ -e $1 && $(realpath "$1")/ = "$PROJECT/tests/"* ]]; }

# In order: each has a process group, so that who called this script is not in it.
end_parts() {
  local group
  for group in $(jobs -p); do kill -- "-$group" 2>/dev/null || true; done
  wait
}

# part NAME COMMAND...   In the background.
part() {
  local name=$1
  shift
  set -m # a process group
  { TIMEFORMAT="... %R s, %U s + %S s of CPU" && time "$@"; } 2>&1 </dev/null | labelled "$name" &
  set +m
  PARTS+=($!)
}

# Each line with the name of its part; lives as long as its input.
labelled() (
  trap '' INT TERM
  exec sed -u "s/^/$1: /"
)

lint() {
  local ruff=(--cache-dir "$PRIVATE/lint/ruff")
  (
    cd "$PROJECT/.venv/bin" && PATH=$PWD:$PATH && cd "$PROJECT"
    ruff check "${ruff[@]}" && ruff format --check "${ruff[@]}" &&
      mypy --cache-dir "$PRIVATE/lint/mypy" && lint-imports --cache-dir "$PRIVATE/lint/imports"
  )
}

# tests NAME MARKS [pytest arguments]   Only arguments of the caller may leave a part without a test.
tests() {
  local name=$1 marks=$2 status=0
  shift 2
  "$PYTHON" -m pytest -m "$marks" --junitxml="$REPORTS/$name.xml" "$@" || status=$?
  [ -s "$REPORTS/$name.xml" ] || fail "pytest ended with status $status before it wrote its report"
  [ "$status" != 1 ] || touch "$REPORTS/$name.failed" # its report has to say which test
  [ "$status" -le 1 ] || { [ "$status" = 5 ] && [ -n "$GIVEN" ]; }
}

with_spark() {
  flock "$PROJECT/.venv" "$PYTHON" -m tests.support.archive_classes && tests "$@"
}

# gentle COMMAND...   Gives way to the frontends, whose tests take longest: they wait for each other most.
gentle() {
  renice -n 5 $BASHPID >/dev/null
  "$@"
}

need_servers() {
  need_java
  need_both_servers
  need_postgresql
  need_canal
  need_rest_catalog
  need_clients
  need_browser
}

# A few tests that failed beside the others are run alone: one that passes then is named, and does not make the run red.
run_again() {
  local names
  mapfile -t names < <("$PYTHON" -m tests.support.report --again "$REPORTS")
  [ ${#names[@]} != 0 ] || return 0
  part again tests again "" "${names[@]}"
  wait "${PARTS[-1]}" || true
}

# finish [again]   Waits for all parts, whatever happens to one; then says what there was.
finish() {
  local process failed=0
  for process in "${PARTS[@]}"; do wait "$process" || failed=1; done
  [ -z "${1:-}" ] || run_again
  "$PYTHON" -m tests.support.report "$REPORTS" || failed=1
  [ "$failed" = 0 ] || fail "red; the lines above say what, those of 'short test summary info' first"
}

main() {
  local spread=(--maxprocesses=4 --dist=loadfile --no-loadscope-reorder) # tests/support/long_files.py has the order
  local processes=(--numprocesses=logical "${spread[@]}") again=again
  cd "$PROJECT"
  case ${1:-} in
    --fast | --long) check_arguments "${@:2}" ;;
    *) check_arguments "$@" ;;
  esac
  make_private
  need_python requirements-dev.lock
  case ${1:-} in
    --fast)
      part lint lint
      part fast tests fast "not spark and not mysql and not long and not slow" "${processes[@]}" tests/unit tests/grammar "${@:2}"
      ;;
    --long)
      need_servers
      again=""
      part long with_spark long "long or slow or hypothesis" --hypothesis-profile=random "${@:2}"
      ;;
    *)
      part lint lint
      need_servers
      # by themselves: each process collects all tests of its part, and these are most of them
      part unit gentle tests unit "not spark and not long and not slow" "${processes[@]}" tests/unit tests/grammar "$@"
      # these and the frontends wait more than they compute
      part plain gentle tests plain "not spark and not long and not slow" "${spread[@]}" --numprocesses=$(($(nproc) + 1)) \
        tests/contract tests/acceptance "$@"
      part lake gentle with_spark lake "spark and not long and not slow" "${processes[@]}" tests/contract "$@"
      part frontend with_spark frontend "spark and not long and not slow" "${spread[@]}" --numprocesses=$(($(nproc) + 1)) \
        tests/acceptance "$@"
      ;;
  esac
  finish "$again"
}

main "$@"
