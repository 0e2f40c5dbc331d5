# shellcheck shell=bash
# What the scripts of this folder need on the machine: found, or made.
# Owns: Python's environment, Java, a MySQL or MariaDB server and a client, PostgreSQL, canal, a browser, and the words
# when one cannot be had.
# Must not know: what the scripts do with them.
# Sourced. Sets PROJECT and PYTHON; says what takes time, on stderr, and nothing else.

PROJECT=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..") # not by cd, which prints where CDPATH is set
PYTHON=$PROJECT/.venv/bin/python
PRIVATE=${XDG_CACHE_HOME:-${HOME:-~}/.cache}/syncmgr
export PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin # servers live there, and plain users do not look there

say() { printf 'syncmgr: %s\n' "$*" >&2; }

fail() {
  say "$*"
  exit 1
}

has() { command -v "$1" >/dev/null; }

# step "what is done, and why it takes time" command...   Quiet unless the command fails.
step() {
  local what=$1 log started=$SECONDS
  shift
  log=$(mktemp)
  say "$what ..."
  if ! "$@" >"$log" 2>&1 </dev/null; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    fail "this did not work: $*"
  fi
  rm -f "$log"
  say "... done in $((SECONDS - started)) s"
}

# make_private   Where what is made for all clones of a user goes.
make_private() {
  [[ $PRIVATE = /* ]] && mkdir -p "$PRIVATE" 2>/dev/null && [ -w "$PRIVATE" ] ||
    fail "$PRIVATE cannot be written. Please set XDG_CACHE_HOME to a folder that user $(id -u) may write, and start again."
}

# one_at_a_time command...   What two scripts would make in the same folder; the second finds it made.
one_at_a_time() {
  make_private
  flock "$PRIVATE/made.lock" "$@"
}

port_is_open() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# --- Debian's packages ---

# apt_install "what for" package-list...   Of each list ("a|b") the first package that this machine's archive has.
apt_install() {
  local what=$1 list packages=()
  shift
  may_install "$what" "$@"
  if [ -z "${apt_is_fresh:-}" ]; then
    step "asking the package archive what it has" as_root apt-get -q update
    apt_is_fresh=yes
  fi
  for list in "$@"; do packages+=("$(first_available "$list")"); done
  # --no-remove: nothing that somebody installed gives way to us
  step "installing $what with apt (${packages[*]})" as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get -q install -y -o DPkg::Lock::Timeout=300 --no-install-recommends --no-remove "${packages[@]}"
  hash -r
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

may_install() {
  local what=$1 packages
  shift
  packages=${*//|/ or }
  has apt-get || fail "$what is missing. Please install it (on Debian and Ubuntu: $packages) and start again."
  if [ "$(id -u)" != 0 ] && ! { has sudo && sudo -n true 2>/dev/null; }; then
    fail "$what is missing. Please install it as root (apt-get install $packages) and start again."
  fi
}

first_available() {
  local package candidates
  IFS='|' read -ra candidates <<<"$1"
  for package in "${candidates[@]}"; do
    if [[ $(apt-cache policy "$package") =~ Candidate:\ [^\(] ]]; then
      echo "$package"
      return
    fi
  done
  echo "${candidates[0]}" # apt will say that it knows no such package
}

# --- Python ---

# need_python LOCK-FILE   .venv with its packages, and this project on its path.
need_python() {
  local lock=$1
  python_is_ready "$lock" && return
  make_private
  # two scripts started at the same time make one environment, one after the other
  (flock 9 && { python_is_ready "$lock" || make_python "$lock"; }) 9>"$PRIVATE/python.lock"
}

python_is_ready() {
  cmp -s "$PROJECT/$1" "$PROJECT/.venv/$1" &&
    "$PYTHON" -c 'import syncmgr, importlib.util as found, sys; sys.exit(found.find_spec("setuptools") is not None)' \
      2>/dev/null
}

make_python() {
  "$PYTHON" -m pip --version >/dev/null 2>&1 || make_venv
  # a .pth needs no build and no network, unlike pip install --editable
  printf '%s\n' "$PROJECT" "$PROJECT/grammar" >"$("$PYTHON" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/project.pth"
  step "installing the Python packages of $1 (the first time 600 MB, most of it Spark: some minutes)" \
    "$PYTHON" -m pip install --disable-pip-version-check --require-hashes --requirement "$PROJECT/$1"
  # venv brings an old one up to Python 3.11, which no lock names and nothing here needs
  step "removing setuptools" "$PYTHON" -m pip uninstall --disable-pip-version-check --yes setuptools
  cp "$PROJECT/$1" "$PROJECT/.venv/$1"
}

make_venv() {
  local python
  if ! python=$(fitting_python); then
    apt_install "Python 3.11 or newer with venv" python3-venv
    python=$(fitting_python) || fail "Python 3.11 or newer is missing; this system's own is $(python3 --version)."
  fi
  step "making .venv with $("$python" --version)" "$python" -m venv --clear "$PROJECT/.venv"
}

fitting_python() {
  local python
  for python in python3 /usr/bin/python3 python3.13 python3.12 python3.11; do
    if "$python" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$python"
      return
    fi
  done
  return 1
}

# --- Java: which one fits is the frontend's own rule ---

need_java() {
  local reason
  reason=$(why_no_java)
  [ -n "$reason" ] || return 0
  apt_install "Java 17 or 21" "openjdk-17-jre-headless|openjdk-21-jre-headless"
  reason=$(why_no_java)
  [ -z "$reason" ] || fail "$reason"
}

why_no_java() {
  "$PYTHON" - <<'PYTHON'
from syncmgr.errors import SyncError
from syncmgr.lake.spark.java import java_home

try:
    java_home()
except SyncError as error:
    print(error)
PYTHON
}

# --- MySQL and MariaDB: Debian's -core packages hold the programs alone and start no service ---

need_mysql_server() {
  has mysqld || has mariadbd || apt_install "a MySQL or MariaDB server" \
    "mysql-server-core-8.0|mariadb-server-core" "mysql-client-core-8.0|mariadb-client-core"
}

need_mysql_client() {
  has mysql || has mariadb || apt_install "the mysql command line" "mysql-client-core-8.0|mariadb-client-core"
}

# The command line that this machine has: Debian 13's MariaDB brings no mysql any more.
client_name() {
  if has mysql || ! has mariadb; then echo mysql; else echo mariadb; fi
}

# Both kinds of server, for the tests. Debian's archive has MySQL in its newest suite only, and never beside MariaDB.
need_both_servers() {
  export PATH=$PRIVATE/mysql/bin:$PATH
  if is_debian; then
    { has mariadbd && has mariadb-admin; } ||
      apt_install "a MariaDB server and its client programs" mariadb-server-core mariadb-client
    is_mysql mysqld || step "unpacking a MySQL server into $PRIVATE/mysql (50 MB)" \
      one_at_a_time "$PROJECT/tests/bin/install-mysql" "$PRIVATE/mysql"
  else
    need_mysql_server
  fi
}

# A PostgreSQL server, for the tests. Its package would make a cluster and start it, which is prevented; what cannot be
# installed is reported, and its tests are skipped.
need_postgresql() {
  has_postgresql || (install_postgresql) || say "there is no PostgreSQL server, so that its tests are skipped"
}

has_postgresql() { has pg_ctl || compgen -G '/usr/lib/postgresql/*/bin/pg_ctl' >/dev/null; }

install_postgresql() {
  apt_install "what PostgreSQL's package reads first" postgresql-common
  as_root sed -i 's/^#* *create_main_cluster *=.*/create_main_cluster = false/' \
    /etc/postgresql-common/createcluster.conf
  apt_install "a PostgreSQL server" postgresql
}

# What brings canal and the REST catalog.
need_maven() {
  { has mvn && has javac; } ||
    apt_install "maven and a JDK" maven "openjdk-17-jdk-headless|openjdk-21-jdk-headless"
}

# A canal server and a ZooKeeper, for the tests.
need_canal() {
  export CANAL_HOME=$PRIVATE/canal
  need_maven
  step "putting a canal server into $CANAL_HOME (40 MB, from Maven Central)" \
    one_at_a_time "$PROJECT/tests/bin/install-canal" "$CANAL_HOME"
}

# Iceberg's REST catalog server, for the tests and the demo on S3.
need_rest_catalog() {
  need_maven
  step "putting a REST catalog into $PRIVATE/rest (20 MB, from Maven Central)" \
    one_at_a_time "$PROJECT/tests/bin/install-rest" "$PRIVATE/rest"
}

# Drivers of other languages, for the tests. What cannot be installed is reported, and its tests are skipped.
need_clients() {
  export SYNCMGR_CLIENTS=$PRIVATE/clients
  export PYTHON
  step "putting MySQL drivers into $SYNCMGR_CLIENTS (the first time 120 MB: some minutes)" \
    one_at_a_time "$PROJECT/tests/bin/install-clients" "$SYNCMGR_CLIENTS"
}

# A Chromium, and what looks in it for faults of a page. What cannot be had is told, and its tests are skipped.
need_browser() {
  { has chromium || (apt_install "a Chromium" chromium); } ||
    say "there is no Chromium, so that the tests of the page are skipped"
  { has npm || (apt_install "npm" npm); } || say "there is no npm, so that the page is not tested with axe"
  (step "putting axe-core into $PRIVATE/browser (1 MB, from npm)" \
    one_at_a_time "$PROJECT/tests/bin/install-browser" "$PRIVATE/browser") ||
    say "axe-core cannot be had, so that the page is not tested with it"
}

is_debian() { grep -qx 'ID=debian' /etc/os-release; }

is_mysql() { has "$1" && [[ $("$1" --version) != *MariaDB* ]]; }
