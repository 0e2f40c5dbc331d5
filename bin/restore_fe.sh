#!/usr/bin/env bash
# restore_fe.sh FOLDER   Brings a backup back into the folders of SYNCMGR_HOME, which must be empty.
#
# Ends with 0 done, 1 refused, 2 fe.conf is wrong.
set -euo pipefail
source "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/environment.sh"
source "$PROJECT/bin/frontend.sh"
run_on_folder restore "$@"
