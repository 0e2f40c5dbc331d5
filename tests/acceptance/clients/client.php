<?php
// mysqli and PDO, both on mysqlnd, one JSON line a check (see checks.py).  Run as `php client.php mysqli|pdo`.
mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
const ODD_TEXT = "it's \\ \"fine\"; -- ü";
const MANY = "SELECT id FROM range(10000)";
const SLOW = "SELECT count(*) FROM range(100000000000) WHERE hash(id) = 1";
[$port, $user, $password, $database, $query] = array_map("getenv",
    ["CONSOLE_PORT", "CONSOLE_USER", "CONSOLE_PASSWORD", "CONSOLE_DATABASE", "CONSOLE_VALUES"]);
$values = [-7, -70000, 1099511627776, 1.5, "-123.40", "Größe", "\x00\xff", "2026-11-21", "2026-11-21 10:00:00.000005",
    "2026-11-21 10:00:00.000000", 1, null];

function equal($found, $expected): void {
    if ($found !== $expected) {
        throw new Exception(var_export($found, true) . " is not " . var_export($expected, true));
    }
}

function texts(array $row): array {
    $row = array_map(fn ($each) => $each === null ? null : (string) $each, $row);
    if (isset($row[9]) && strlen($row[9]) == 19) {
        $row[9] .= ".000000"; // the text protocol shows no zeros behind the point
    }
    return $row;
}

function refused(callable $run, int $number): void {
    try {
        $run();
    } catch (mysqli_sql_exception $error) {
        equal($error->getCode(), $number);
        return;
    } catch (PDOException $error) {
        equal($error->errorInfo[1], $number);
        return;
    }
    throw new Exception("it went through");
}

function open(int $flags = 0): mysqli {
    global $port, $user, $password, $database;
    $connection = mysqli_init();
    $connection->options(MYSQLI_OPT_INT_AND_FLOAT_NATIVE, false);
    $connection->real_connect("127.0.0.1", $user, $password, $database, (int) $port, null, $flags);
    $connection->set_charset("utf8mb4");
    return $connection;
}

const NOT_VERIFIED = MYSQLI_CLIENT_SSL | MYSQLI_CLIENT_SSL_DONT_VERIFY_SERVER_CERT;
$mysqli = [
    "login" => fn () => equal(explode("@", open()->query("SELECT CURRENT_USER()")->fetch_row()[0])[0], $user),
    "tls" => fn () => equal(open(NOT_VERIFIED)->query("SHOW STATUS LIKE 'Ssl_cipher'")->fetch_row()[1] !== "", true),
    "values" => fn () => equal(texts(open()->query($query)->fetch_row()), texts($values)),
    "prepared" => function () use ($query, $values) {
        $connection = open();
        $statement = $connection->prepare("SELECT ?, ?, ?");
        foreach ([42, 43] as $number) {
            $text = ODD_TEXT;
            $nothing = null;
            $statement->bind_param("sis", $text, $number, $nothing);
            $statement->execute();
            equal($statement->get_result()->fetch_row(), [ODD_TEXT, $number, null]);
        }
        $statement = $connection->prepare($query);
        $statement->execute();
        equal(texts($statement->get_result()->fetch_row()), texts($values));
    },
    "many rows" => fn () => equal(count(open()->query(MANY)->fetch_all()), 10000),
    "cursor" => function () {
        $connection = open();
        $statement = $connection->prepare(MANY);
        $statement->attr_set(MYSQLI_STMT_ATTR_CURSOR_TYPE, MYSQLI_CURSOR_TYPE_READ_ONLY);
        $statement->execute();
        $statement->bind_result($id);
        for ($found = 0; $statement->fetch(); $found++) {
            equal($id, $found);
        }
        equal($found, 10000);
    },
    "metadata" => fn () => equal(open()->query("SHOW TABLES")->fetch_all(), [["orders"]]),
    "errors" => function () {
        $connection = open();
        refused(fn () => $connection->query("SELEC 1"), 1064);
        refused(fn () => $connection->query("DESCRIBE nothing"), 1146);
        equal($connection->query("SELECT 42")->fetch_row(), ["42"]);
    },
    "several statements" => function () {
        $connection = open();
        $connection->multi_query("SELECT 1; SET @x = 2; SELECT @x");
        $found = [];
        do {
            $result = $connection->store_result();
            $found[] = $result ? $result->fetch_row()[0] : null;
        } while ($connection->next_result());
        equal($found, ["1", null, "2"]);
    },
    "compression" => function () {
        $connection = open(MYSQLI_CLIENT_COMPRESS);
        equal($connection->query("SHOW STATUS LIKE 'Compression'")->fetch_row()[1], "ON");
        equal(count($connection->query(MANY)->fetch_all()), 10000);
    },
    "kill" => function () {
        $victim = open();
        $victim->query(SLOW, MYSQLI_ASYNC);
        do { // a KILL may come before the query
            open()->query("KILL QUERY {$victim->thread_id}");
            $done = $failed = $refused = [$victim];
        } while (!mysqli_poll($done, $failed, $refused, 1));
        refused(fn () => $victim->reap_async_query(), 1317);
        equal($victim->query("SELECT 42")->fetch_row(), ["42"]);
    },
];

function pdo(array $options = []): PDO {
    global $port, $user, $password, $database;
    $where = "mysql:host=127.0.0.1;port=$port;dbname=$database;charset=utf8mb4";
    return new PDO($where, $user, $password, $options + [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
}

$pdo = [
    "login" => fn () => equal(explode("@", pdo()->query("SELECT CURRENT_USER()")->fetchColumn())[0], $user),
    "tls" => fn () => equal(pdo([PDO::MYSQL_ATTR_SSL_CA => "", PDO::MYSQL_ATTR_SSL_VERIFY_SERVER_CERT => false])
        ->query("SHOW STATUS LIKE 'Ssl_cipher'")->fetch(PDO::FETCH_NUM)[1] !== "", true),
    "values" => fn () => equal(texts(pdo()->query($query)->fetch(PDO::FETCH_NUM)), texts($values)),
    "prepared" => function () use ($query, $values) {
        $connection = pdo([PDO::ATTR_EMULATE_PREPARES => false]);
        $statement = $connection->prepare("SELECT ?, ?, ?");
        $statement->execute([ODD_TEXT, 42, null]);
        equal(texts($statement->fetch(PDO::FETCH_NUM)), [ODD_TEXT, "42", null]);
        $statement = $connection->prepare($query);
        $statement->execute();
        equal(texts($statement->fetch(PDO::FETCH_NUM)), texts($values));
    },
    "many rows" => fn () => equal(count(pdo()->query(MANY)->fetchAll()), 10000),
    "metadata" => fn () => equal(pdo()->query("SHOW TABLES")->fetchAll(PDO::FETCH_COLUMN), ["orders"]),
    "errors" => function () {
        $connection = pdo();
        refused(fn () => $connection->query("SELEC 1"), 1064);
        equal((string) $connection->query("SELECT 42")->fetchColumn(), "42");
    },
    "several statements" => function () {
        $result = pdo()->query("SELECT 1; SELECT 2");
        $found = [];
        do {
            $found[] = (string) $result->fetchColumn();
        } while ($result->nextRowset());
        equal($found, ["1", "2"]);
    },
    "compression" => function () {
        $connection = pdo([PDO::MYSQL_ATTR_COMPRESS => true]);
        equal($connection->query("SHOW STATUS LIKE 'Compression'")->fetch(PDO::FETCH_NUM)[1], "ON");
    },
];

echo json_encode(["version" => PHP_VERSION]), "\n";
foreach (["mysqli" => $mysqli, "pdo" => $pdo][$argv[1]] as $check => $run) {
    $outcome = "ok";
    try {
        $run();
    } catch (Throwable $error) {
        $outcome = (string) $error;
    }
    echo json_encode(["check" => $check, "outcome" => $outcome], JSON_INVALID_UTF8_SUBSTITUTE), "\n";
}
