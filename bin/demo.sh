#!/usr/bin/env bash
# demo.sh [--keep | --stop FOLDER]   A MySQL shop, its tables in the lake change by change, and the proof that both are equal.
#
# Makes what it needs. Everything runs in a folder of its own, on ports of its own, and is gone afterwards;
# with --keep it goes on running, and you are told how to connect and stop it. Ends with 0 only if both sides are equal.
set -euo pipefail
source "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/environment.sh"
source "$PROJECT/bin/demo_scenes.sh"

# The lake is a folder of the frontend's machine, which needs no server and no setting.
need_lake() { :; }
start_lake() { :; }
lake_settings() { :; }
stop_lake() { :; }

demo "$@"
