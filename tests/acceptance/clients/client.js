// mysql2 of node: text and prepared statements, one JSON line a check (see checks.py).
"use strict";
const assert = require("node:assert");
const mysql = require("mysql2/promise");

const { CONSOLE_PORT, CONSOLE_USER, CONSOLE_PASSWORD, CONSOLE_DATABASE, CONSOLE_VALUES } = process.env;
const ODD_TEXT = "it's \\ \"fine\"; -- ü";
const WHERE = {
  host: "127.0.0.1", port: Number(CONSOLE_PORT), user: CONSOLE_USER, password: CONSOLE_PASSWORD,
  database: CONSOLE_DATABASE, dateStrings: true, rowsAsArray: true,
};

async function ask(sql, { parameters, prepared = false, ...options } = {}) {
  const connection = await mysql.createConnection({ ...WHERE, ...options });
  try {
    const [rows] = prepared ? await connection.execute(sql, parameters) : await connection.query(sql, parameters);
    return rows;
  } finally {
    connection.destroy();
  }
}

const VALUES = [-7, -70000, 1099511627776, 1.5, "-123.40", "Größe", Buffer.from([0, 255]), "2026-11-21",
  "2026-11-21 10:00:00.000005", "2026-11-21 10:00:00", 1, null];

const checks = {
  "login": async () => assert.equal((await ask("SELECT CURRENT_USER()"))[0][0].split("@")[0], CONSOLE_USER),
  "tls": async () => {
    const [[, cipher]] = await ask("SHOW STATUS LIKE 'Ssl_cipher'", { ssl: { rejectUnauthorized: false } });
    assert.notEqual(cipher, "");
  },
  "values": async () => assert.deepStrictEqual(await ask(CONSOLE_VALUES), [VALUES]),
  "prepared": async () => {
    const rows = await ask("SELECT ?, ?, ?", { prepared: true, parameters: [ODD_TEXT, 42, null] });
    assert.deepStrictEqual([rows[0][0], Number(rows[0][1]), rows[0][2]], [ODD_TEXT, 42, null]);
    const [row] = await ask(CONSOLE_VALUES, { prepared: true, parameters: [] });
    assert.deepStrictEqual(row, VALUES);
  },
  "many rows": async () => assert.equal((await ask("SELECT id FROM range(10000)")).length, 10000),
  "metadata": async () => {
    const where = { parameters: [CONSOLE_DATABASE], prepared: true };
    const rows = await ask("SELECT table_name FROM information_schema.tables WHERE table_schema = ?", where);
    assert.deepStrictEqual(rows, [["orders"]]);
  },
  "errors": async () => {
    for (const [sql, errno, sqlState] of [["SELEC 1", 1064, "42000"], ["DESCRIBE nothing", 1146, "42S02"]]) {
      await assert.rejects(ask(sql), { errno, sqlState });
    }
  },
  "several statements": async () => {
    const found = await ask("SELECT 1; SET @x = 2; SELECT @x", { multipleStatements: true });
    assert.deepStrictEqual([found[0], found[2]], [[[1]], [[2]]]);
  },
  "compression": async () => {
    const compressed = { compress: true };
    assert.deepStrictEqual(await ask("SHOW STATUS LIKE 'Compression'", compressed), [["Compression", "ON"]]);
    assert.equal((await ask("SELECT id FROM range(10000)", compressed)).length, 10000);
  },
  "kill": async () => {
    const victim = await mysql.createConnection(WHERE);
    const [[[id]]] = await victim.query("SELECT CONNECTION_ID()");
    const running = victim.query("SELECT count(*) FROM range(100000000000) WHERE hash(id) = 1");
    let over = false;
    const killing = (async () => {
      while (!over) { // a KILL may come before the query
        await new Promise((done) => setTimeout(done, 1000));
        await ask(`KILL QUERY ${id}`);
      }
    })();
    await assert.rejects(running, { errno: 1317 }).finally(() => { over = true; });
    await killing;
    victim.destroy();
  },
};

(async () => {
  console.log(JSON.stringify({ version: require("mysql2/package.json").version }));
  for (const [check, run] of Object.entries(checks)) {
    let outcome = "ok";
    try {
      await run();
    } catch (error) {
      outcome = String(error.stack || error);
    }
    console.log(JSON.stringify({ check, outcome }));
  }
})();
