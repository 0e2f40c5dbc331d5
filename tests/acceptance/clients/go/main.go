// go-sql-driver: text and prepared statements, one JSON line a check (see checks.py).
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

const oddText = "it's \\ \"fine\"; -- ü"
const slow = "SELECT count(*) FROM range(100000000000) WHERE hash(id) = 1"

func open(options string) *sql.DB {
	where := fmt.Sprintf("%s:%s@tcp(127.0.0.1:%s)/%s?%s", os.Getenv("CONSOLE_USER"), os.Getenv("CONSOLE_PASSWORD"),
		os.Getenv("CONSOLE_PORT"), os.Getenv("CONSOLE_DATABASE"), options)
	db, err := sql.Open("mysql", where)
	need(err)
	return db
}

func need(err error) {
	if err != nil {
		panic(err)
	}
}

func equal(found, expected any) {
	if !reflect.DeepEqual(found, expected) {
		panic(fmt.Sprintf("%#v is not %#v", found, expected))
	}
}

// texts gives every value of a result as a text, NULL as "NULL".
func texts(rows *sql.Rows, err error) [][]string {
	need(err)
	defer rows.Close()
	names, err := rows.Columns()
	need(err)
	found := [][]string{}
	for rows.Next() {
		values, places := make([]sql.NullString, len(names)), make([]any, len(names))
		for i := range values {
			places[i] = &values[i]
		}
		need(rows.Scan(places...))
		row := []string{}
		for _, value := range values {
			if value.Valid {
				row = append(row, value.String)
			} else {
				row = append(row, "NULL")
			}
		}
		found = append(found, row)
	}
	need(rows.Err())
	return found
}

func ask(options, query string, parameters ...any) [][]string {
	db := open(options)
	defer db.Close()
	return texts(db.Query(query, parameters...))
}

var values = []string{"-7", "-70000", "1099511627776", "1.5", "-123.40", "Größe", "\x00\xff", "2026-11-21",
	"2026-11-21 10:00:00.000005", "2026-11-21 10:00:00.000000", "1", "NULL"}

func sameValues(row []string) {
	if len(row) > 9 && len(row[9]) == 19 { // the text protocol shows no zeros behind the point
		row[9] += ".000000"
	}
	equal(row, values)
}

func number(err error) uint16 {
	var told *mysql.MySQLError
	if !errors.As(err, &told) {
		panic(fmt.Sprintf("no error of the server: %v", err))
	}
	return told.Number
}

var checks = []struct {
	name string
	run  func()
}{
	{"login", func() {
		user := ask("", "SELECT CURRENT_USER()")[0][0]
		equal(strings.Split(user, "@")[0], os.Getenv("CONSOLE_USER"))
	}},
	{"tls", func() { equal(ask("tls=skip-verify", "SHOW STATUS LIKE 'Ssl_cipher'")[0][1] != "", true) }},
	{"values", func() { sameValues(ask("", os.Getenv("CONSOLE_VALUES"))[0]) }},
	{"prepared", func() {
		db := open("")
		defer db.Close()
		statement, err := db.Prepare("SELECT ?, ?, ?")
		need(err)
		for _, each := range []int{42, 43} {
			equal(texts(statement.Query(oddText, each, nil)), [][]string{{oddText, fmt.Sprint(each), "NULL"}})
		}
		need(statement.Close())
		statement, err = db.Prepare(os.Getenv("CONSOLE_VALUES"))
		need(err)
		sameValues(texts(statement.Query())[0])
	}},
	{"many rows", func() { equal(len(ask("", "SELECT id FROM range(10000)")), 10000) }},
	{"metadata", func() {
		query := "SELECT table_name FROM information_schema.tables WHERE table_schema = ?"
		equal(ask("", query, os.Getenv("CONSOLE_DATABASE")), [][]string{{"orders"}})
	}},
	{"errors", func() {
		db := open("")
		defer db.Close()
		for query, expected := range map[string]uint16{"SELEC 1": 1064, "DESCRIBE nothing": 1146} {
			_, err := db.Exec(query)
			equal(number(err), expected)
		}
	}},
	{"several statements", func() {
		db := open("multiStatements=true")
		defer db.Close()
		rows, err := db.Query("SELECT 1; SELECT 2")
		need(err)
		defer rows.Close()
		found := []int{}
		for more := true; more; more = rows.NextResultSet() {
			for rows.Next() {
				var each int
				need(rows.Scan(&each))
				found = append(found, each)
			}
		}
		equal(found, []int{1, 2})
	}},
	{"compression", func() {
		equal(ask("compress=true", "SHOW STATUS LIKE 'Compression'"), [][]string{{"Compression", "ON"}})
		equal(len(ask("compress=true", "SELECT id FROM range(10000)")), 10000)
	}},
	{"kill", func() {
		db := open("")
		defer db.Close()
		victim, err := db.Conn(context.Background())
		need(err)
		defer victim.Close()
		var id int
		need(victim.QueryRowContext(context.Background(), "SELECT CONNECTION_ID()").Scan(&id))
		ticker := time.NewTicker(time.Second) // a KILL may come before the query
		defer ticker.Stop()
		go func() {
			for range ticker.C {
				db.Exec(fmt.Sprintf("KILL QUERY %d", id))
			}
		}()
		var count int
		equal(number(victim.QueryRowContext(context.Background(), slow).Scan(&count)), uint16(1317))
	}},
}

func outcome(run func()) (told string) {
	told = "ok"
	defer func() {
		if trouble := recover(); trouble != nil {
			told = fmt.Sprintf("%v\n%s", trouble, debug.Stack())
		}
	}()
	run()
	return told
}

func main() {
	out := json.NewEncoder(os.Stdout)
	version := "?"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, each := range info.Deps {
			if each.Path == "github.com/go-sql-driver/mysql" {
				version = strings.TrimPrefix(each.Version, "v")
			}
		}
	}
	need(out.Encode(map[string]string{"version": version}))
	for _, check := range checks {
		need(out.Encode(map[string]string{"check": check.name, "outcome": outcome(check.run)}))
	}
}
