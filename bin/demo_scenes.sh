# shellcheck shell=bash
# The demo: a MySQL shop, its tables in the lake change by change, and the proof that both are equal.
# Owns: the servers and their folder, what is typed, the scenes and their order.
# Must not know: where the lake is; who sources this brings need_lake, start_lake, lake_settings (the lines of fe.conf by which
# it is reached) and stop_lake.
# Sourced.
WORKLOAD_SECOND=20
WHILE_PAUSED_SECOND=4
CATCH_UP_SECOND=120
SERVER_TIMEOUT_SECOND=60

demo() {
  keep=${1:-}
  case "$#$keep" in
    0 | 1--keep) run_demo ;;
    2--stop) DEMO=$2 && stop_all ;;
    *) fail "usage: ${0##*/} [--keep | --stop FOLDER]" ;;
  esac
}

run_demo() {
  need_python requirements.lock
  need_java
  need_mysql_server
  need_mysql_client
  need_lake
  DEMO=$(mktemp -d -t syncmgr-demo.XXXXXX)
  trap clean_up EXIT
  trap 'exit 130' INT TERM HUP
  choose_client
  start_mysql
  start_lake
  start_frontend
  make_shop
  make_job
  bring_rows
  change_one_row
  change_and_watch
  change_while_paused
  compare
}

# --- the two servers ---

choose_client() {
  CLIENT=("$(client_name)" --no-defaults)
  # its newer versions insist on a certificate that they can verify; the frontend made its own
  is_mysql "${CLIENT[0]}" || CLIENT+=(--skip-ssl-verify-server-cert)
}

start_mysql() {
  local server=mysqld
  is_mysql mysqld || server=mariadbd
  SOCKET=$DEMO/mysql.sock
  MYSQL_PORT=$(free_port)
  mysql_conf >"$DEMO/my.cnf"
  step "making a private MySQL server ($("$server" --version | grep -o 'Ver [^ ]*'))" initialize "$server"
  setsid "$server" --defaults-file="$DEMO/my.cnf" >>"$DEMO/mysql.log" 2>&1 </dev/null &
  mysql_pid=$!
  wait_for_mysql $((SECONDS + SERVER_TIMEOUT_SECOND))
}

wait_for_mysql() {
  until "${CLIENT[@]}" --socket="$SOCKET" --user=root --execute='DO 1' 2>"$DEMO/client.log"; do
    if ! kill -0 "$mysql_pid" 2>/dev/null || ((SECONDS > $1)); then
      tail -n 10 "$DEMO/mysql.log" "$DEMO/client.log" >&2
      fail "the MySQL server did not start"
    fi
    sleep 0.2
  done
}

initialize() {
  if [ "$1" = mysqld ]; then
    mysqld --defaults-file="$DEMO/my.cnf" --initialize-insecure
  else
    mariadb-install-db --defaults-file="$DEMO/my.cnf" --auth-root-authentication-method=normal --skip-test-db
  fi
}

mysql_conf() {
  cat <<CONF
[mysqld]
datadir = $DEMO/mysql
socket = $SOCKET
pid-file = $DEMO/mysql.pid
bind-address = 127.0.0.1
port = $MYSQL_PORT
server-id = 1
log-bin = binlog
loose-binlog-format = ROW
binlog-row-image = FULL
binlog-row-metadata = FULL
loose-gtid-mode = ON
loose-enforce-gtid-consistency = ON
loose-mysqlx = OFF
innodb-flush-log-at-trx-commit = 2
sync-binlog = 0
secure-file-priv = $DEMO
user = $(id -un)
CONF
}

start_frontend() {
  FE_PORT=$(free_port)
  mkdir -p "$DEMO/conf"
  (umask 077 && { printf 'query_port = %s\nhttp_port = 0\n' "$FE_PORT" && lake_settings; } >"$DEMO/conf/fe.conf")
  SYNCMGR_HOME=$DEMO "$PROJECT/bin/start_fe.sh" --daemon
  # Spark's start, and what it fetches
  tail --lines=+1 --sleep-interval=0.2 --follow "$DEMO/log/fe.out" > >(sed --unbuffered 's/^/syncmgr: /' >&2) &
  tail_pid=$!
}

# Below those that Linux gives to clients, one of which could have it before the server does.
free_port() {
  local port
  while port=$((15000 + RANDOM % 17000)) && port_is_open "$port"; do :; done
  echo "$port"
}

clean_up() {
  local status=$?
  trap - EXIT
  [ -z "${tail_pid:-}" ] || kill "$tail_pid" 2>/dev/null || true
  if [ "$keep" = --keep ] && [ -n "${FE_PORT:-}" ]; then
    how_to_go_on
  else
    stop_all
  fi
  exit "$status"
}

stop_all() {
  [ -f "$DEMO/my.cnf" ] || fail "$DEMO is no folder of a demo"
  [ -z "${workload_pid:-}" ] || kill "$workload_pid" 2>/dev/null || true
  SYNCMGR_HOME=$DEMO "$PROJECT/bin/stop_fe.sh" 2>/dev/null || true
  stop_mysql
  stop_lake
  rm -rf "$DEMO"
}

# The server removes its pid file as the last thing.
stop_mysql() {
  local pid deadline=$((SECONDS + SERVER_TIMEOUT_SECOND))
  pid=$(cat "$DEMO/mysql.pid" 2>/dev/null || echo "${mysql_pid:-}")
  [ -n "$pid" ] && kill "$pid" 2>/dev/null || return 0
  while [ -f "$DEMO/mysql.pid" ]; do
    if ((SECONDS > deadline)); then
      kill -KILL "$pid"
      break
    fi
    sleep 0.1
  done
}

how_to_go_on() {
  cat <<TEXT

It goes on running.
  the console:  ${CLIENT[*]} -h 127.0.0.1 -P $FE_PORT -u root demo
  the shop:     ${CLIENT[0]} --socket=$SOCKET -u root shop
  to stop it:   $PROJECT/bin/${0##*/} --stop $DEMO
TEXT
}

# --- what is typed ---

# typed PROMPT "STATEMENT" client...   The statement as a person types it, and what the client answers.
typed() {
  local prompt=$1 statement=$2 form=--table
  shift 2
  printf '\n%s> %s\n' "$prompt" "$statement"
  if [[ $statement = *'\G' ]]; then form=--vertical statement=${statement%'\G'}; fi # \G is for terminals
  "$@" "$form" -vvv --execute="$statement" | without_echo
}

# The client repeats a statement between two lines of dashes; it stands at our prompt already.
without_echo() {
  awk '/^--------------$/ && dashes < 2 { dashes++; next } dashes == 2 && NF && !/^Bye$/'
}

at_console() { typed syncmgr "$1" "${CLIENT[@]}" -h 127.0.0.1 -P "$FE_PORT" -u root; }

at_mysql() { typed mysql "$1" "${CLIENT[@]}" --socket="$SOCKET" -u root; }

title() {
  local bold='' plain=''
  [ ! -t 1 ] || bold=$'\033[1m' plain=$'\033[0m'
  printf '\n%s== %s ==%s\n' "$bold" "$1" "$plain"
}

# --- the scenes ---

make_shop() {
  title "a shop in MySQL"
  at_mysql "CREATE DATABASE shop CHARACTER SET utf8mb4;"
  at_mysql "CREATE TABLE shop.customers (id INT NOT NULL PRIMARY KEY, name VARCHAR(40) NOT NULL, city VARCHAR(40), credit DECIMAL(12,2) NOT NULL);"
  at_mysql "CREATE TABLE shop.orders (id BIGINT NOT NULL PRIMARY KEY, customer_id INT NOT NULL, status VARCHAR(16) NOT NULL, amount DECIMAL(12,2) NOT NULL, note VARCHAR(80), changed_at DATETIME(6) NOT NULL);"
  at_mysql "CREATE TABLE shop.order_lines (order_id BIGINT NOT NULL, line_no INT NOT NULL, sku VARCHAR(16) NOT NULL, quantity INT, price DECIMAL(10,2), PRIMARY KEY (order_id, line_no));"
  at_mysql "CREATE USER repl@'%' IDENTIFIED BY 'demo';"
  at_mysql "GRANT SELECT, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO repl@'%';"
  is_mysql mysqld || at_mysql "GRANT SLAVE MONITOR ON *.* TO repl@'%';" # MariaDB's word for what says whether it replicates
  shop fill --socket "$SOCKET"
}

make_job() {
  title "its tables in the lake, and a job between them (Spark starts now; the first time it fetches its jars)"
  wait_for_spark $((SECONDS + CATCH_UP_SECOND))
  at_console "CREATE DATABASE demo;"
  at_console "CREATE TABLE demo.customers (id INT NOT NULL, name VARCHAR(40), city VARCHAR(40), credit DECIMAL(12,2)) UNIQUE KEY(id);"
  at_console "CREATE TABLE demo.orders (id BIGINT NOT NULL, customer_id INT, status VARCHAR(16), amount DECIMAL(12,2), note VARCHAR(80), changed_at DATETIME(6)) UNIQUE KEY(id);"
  at_console "CREATE TABLE demo.order_lines (order_id BIGINT NOT NULL, line_no INT NOT NULL, sku VARCHAR(16), quantity INT, price DECIMAL(10,2)) UNIQUE KEY(order_id, line_no);"
  at_console "CREATE SYNC demo.shop (
  FROM shop.customers INTO customers (id, name, city, credit),
  FROM shop.orders INTO orders,
  FROM shop.order_lines INTO order_lines (order_id, line_no, sku, quantity, price)
) FROM BINLOG (
  \"type\" = \"mysql\", \"mysql.host\" = \"127.0.0.1\", \"mysql.port\" = \"$MYSQL_PORT\",
  \"mysql.user\" = \"repl\", \"mysql.password\" = \"demo\"
) PROPERTIES (\"sync_commit_interval_second\" = \"1\");"
}

# A statement that needs Spark waits for it only so long, which a busy machine exceeds.
wait_for_spark() {
  until "${CLIENT[@]}" -h 127.0.0.1 -P "$FE_PORT" -u root --execute='DROP DATABASE IF EXISTS demo' 2>"$DEMO/client.log"; do
    ((SECONDS < $1)) || fail "$(cat "$DEMO/client.log")"
    sleep 0.5
  done
}

shop() { "$PYTHON" "$PROJECT/bin/demo_shop.py" "$@"; }

bring_rows() {
  title "the rows that were there come first"
  catch_up
  at_console "SELECT (SELECT count(*) FROM demo.customers) AS customers, (SELECT count(*) FROM demo.orders) AS orders, (SELECT count(*) FROM demo.order_lines) AS order_lines;"
}

change_one_row() {
  title "the first change"
  at_mysql "INSERT INTO shop.customers VALUES (1815, 'Ada', 'London', 10.50);"
  catch_up
  at_console "SELECT * FROM demo.customers WHERE id = 1815;"
}

catch_up() { shop catch-up --socket "$SOCKET" --port "$FE_PORT" --seconds "$CATCH_UP_SECOND"; }

change_and_watch() {
  title "$WORKLOAD_SECOND seconds of inserts, updates (of keys too), deletes and big transactions"
  shop change --socket "$SOCKET" --seconds "$WORKLOAD_SECOND" &
  workload_pid=$!
  sleep $((WORKLOAD_SECOND / 4)) && at_console "SHOW SYNC JOB FROM demo\G"
  sleep $((WORKLOAD_SECOND / 4)) && at_console "SELECT status, count(*) AS orders, sum(amount) AS amount FROM demo.orders GROUP BY status ORDER BY status;"
  sleep $((WORKLOAD_SECOND / 8)) && at_console "SELECT status, count(*) AS orders, sum(amount) AS amount FROM demo.orders GROUP BY status ORDER BY status;"
  alter_a_table
  wait "$workload_pid"
}

# The job has no column list for orders, so that it follows new columns.
alter_a_table() {
  title "a column is added meanwhile"
  at_mysql "ALTER TABLE shop.orders ADD COLUMN channel VARCHAR(8) NOT NULL DEFAULT 'shop' AFTER status;"
  at_mysql "UPDATE shop.orders SET channel = 'web' WHERE id BETWEEN 1 AND 5;"
  catch_up
  at_console "SELECT channel, count(*) AS orders FROM demo.orders GROUP BY channel;"
  at_console "SELECT ddl_time, table_name, state, outcome FROM information_schema.sync_ddl;"
}

change_while_paused() {
  title "the job is paused, the shop goes on"
  at_console "PAUSE SYNC JOB demo.shop;"
  shop change --socket "$SOCKET" --seconds "$WHILE_PAUSED_SECOND"
  at_console "SHOW SYNC JOB FROM demo\G"
  at_console "RESUME SYNC JOB demo.shop;"
  catch_up
}

compare() {
  local aggregate="SELECT status, count(*) AS orders, sum(amount) AS amount FROM %s.orders GROUP BY status ORDER BY status;" left right
  title "the same question to both"
  left=$(at_mysql "${aggregate/\%s/shop}" | tail -n +3)
  right=$(at_console "${aggregate/\%s/demo}" | tail -n +3)
  printf '\nmysql>   %s\nsyncmgr> %s\n' "${aggregate/\%s/shop}" "${aggregate/\%s/demo}"
  paste -d '\n' <(echo "$left") <(echo "$right") | while read -r one && read -r other; do printf '%-52s %s\n' "$one" "$other"; done
  title "every row of both"
  shop compare --socket "$SOCKET" --port "$FE_PORT"
}
