#!/usr/bin/env bash
# backup_fe.sh FOLDER   Copies metadata, lake and staging of the frontend of SYNCMGR_HOME, which may run, into FOLDER.
#
# Ends with 0 done, 1 refused, 2 fe.conf is wrong.
set -euo pipefail
source "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/environment.sh"
source "$PROJECT/bin/frontend.sh"
run_on_folder backup "$@"
