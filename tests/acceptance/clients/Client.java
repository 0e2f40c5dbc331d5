// MySQL Connector/J and MariaDB Connector/J, one JSON line a check (see checks.py).  Run as `java Client.java SCHEME`.
import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Timer;
import java.util.TimerTask;

public class Client {
    static final String ODD_TEXT = "it's \\ \"fine\"; -- \u00fc";
    static final String SLOW = "SELECT count(*) FROM range(100000000000) WHERE hash(id) = 1";
    static final String DATABASE = System.getenv("CONSOLE_DATABASE");
    static String scheme;

    interface Check {
        void run() throws Exception;
    }

    static Connection open(String options) throws SQLException {
        String plain = scheme.equals("mysql") ? "sslMode=DISABLED&allowPublicKeyRetrieval=true" : "sslMode=disable&allowPublicKeyRetrieval=true";
        String where = "jdbc:" + scheme + "://127.0.0.1:" + System.getenv("CONSOLE_PORT") + "/" + DATABASE + "?";
        String given = options.contains("sslMode") ? options : plain + options;
        return DriverManager.getConnection(where + given, System.getenv("CONSOLE_USER"), System.getenv("CONSOLE_PASSWORD"));
    }

    static void equal(Object found, Object expected) {
        if (!Objects.equals(found, expected)) throw new AssertionError(found + " is not " + expected);
    }

    static String first(Connection connection, String sql, int column) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(sql)) {
            rows.next();
            return rows.getString(column);
        }
    }

    static void login() throws Exception {
        try (Connection connection = open("")) {
            equal(first(connection, "SELECT CURRENT_USER()", 1).split("@")[0], System.getenv("CONSOLE_USER"));
        }
    }

    static void tls() throws Exception {
        try (Connection connection = open(scheme.equals("mysql") ? "sslMode=REQUIRED" : "sslMode=trust")) {
            equal(first(connection, "SHOW STATUS LIKE 'Ssl_cipher'", 2).isEmpty(), false);
        }
    }

    static void compression() throws Exception {
        try (Connection connection = open("&useCompression=true")) {
            equal(first(connection, "SHOW STATUS LIKE 'Compression'", 2), "ON");
            equal(count(connection.createStatement(), "SELECT id FROM range(10000)"), 10000);
        }
    }

    static void values() throws Exception {
        try (Connection connection = open(""); Statement statement = connection.createStatement()) {
            sameValues(statement.executeQuery(System.getenv("CONSOLE_VALUES")));
        }
    }

    static void sameValues(ResultSet rows) throws SQLException {
        equal(rows.next(), true);
        equal(rows.getByte(1), (byte) -7);
        equal(rows.getInt(2), -70000);
        equal(rows.getLong(3), 1099511627776L);
        equal(rows.getDouble(4), 1.5);
        equal(rows.getBigDecimal(5), new BigDecimal("-123.40"));
        equal(rows.getString(6), "Gr\u00f6\u00dfe");
        equal(Arrays.toString(rows.getBytes(7)), "[0, -1]");
        equal(rows.getDate(8).toString(), "2026-11-21");
        equal(rows.getTimestamp(9).toLocalDateTime().toString(), "2026-11-21T10:00:00.000005");
        equal(rows.getTimestamp(10).toLocalDateTime().toString(), "2026-11-21T10:00");
        equal(rows.getBoolean(11), true);
        equal(rows.getObject(12), null);
        equal(rows.next(), false);
    }

    static void prepared() throws Exception {
        try (Connection connection = open("&useServerPrepStmts=true")) {
            try (PreparedStatement statement = connection.prepareStatement("SELECT ?, ?, ?, ?")) {
                for (int number : new int[] {42, 43}) {
                    statement.setString(1, ODD_TEXT);
                    statement.setInt(2, number);
                    statement.setString(3, null);
                    statement.setBigDecimal(4, new BigDecimal("1.50"));
                    ResultSet rows = statement.executeQuery();
                    rows.next();
                    equal(rows.getString(1), ODD_TEXT);
                    equal(rows.getInt(2), number);
                    equal(rows.getString(3), null);
                    equal(rows.getBigDecimal(4), new BigDecimal("1.50"));
                }
            }
            try (PreparedStatement statement = connection.prepareStatement(System.getenv("CONSOLE_VALUES"))) {
                sameValues(statement.executeQuery());
            }
        }
    }

    static int count(Statement statement, String sql) throws SQLException {
        int found = 0;
        try (ResultSet rows = statement.executeQuery(sql)) {
            while (rows.next()) equal(rows.getInt(1), found++);
        }
        return found;
    }

    static void cursor() throws Exception {
        try (Connection connection = open("&useCursorFetch=true&useServerPrepStmts=true");
                PreparedStatement statement = connection.prepareStatement("SELECT id FROM range(10000)")) {
            statement.setFetchSize(300);
            int found = 0;
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) equal(rows.getInt(1), found++);
            }
            equal(found, 10000);
        }
    }

    static List<String> names(ResultSet rows, int column) throws SQLException {
        List<String> found = new ArrayList<>();
        while (rows.next()) found.add(rows.getString(column));
        return found;
    }

    static void metadata() throws Exception {
        try (Connection connection = open("")) {
            DatabaseMetaData about = connection.getMetaData();
            equal(names(about.getCatalogs(), 1).contains(DATABASE), true);
            equal(names(about.getTables(DATABASE, null, "%", new String[] {"TABLE"}), 3), List.of("orders"));
            equal(names(about.getColumns(DATABASE, null, "orders", "%"), 4), List.of("id", "status"));
            equal(names(about.getPrimaryKeys(DATABASE, null, "orders"), 4), List.of("id"));
            equal(names(about.getIndexInfo(DATABASE, null, "orders", true, true), 9), List.of("id"));
            equal(names(about.getImportedKeys(DATABASE, null, "orders"), 4), List.of());
            equal(names(about.getExportedKeys(DATABASE, null, "orders"), 4), List.of());
            equal(names(about.getProcedures(DATABASE, null, "%"), 3), List.of());
            equal(names(about.getFunctions(DATABASE, null, "%"), 3), List.of());
            equal(names(about.getTableTypes(), 1).contains("TABLE"), true);
            equal(names(about.getTypeInfo(), 1).isEmpty(), false);
            equal(names(about.getTablePrivileges(DATABASE, null, "orders"), 3), List.of());
            equal(names(about.getColumnPrivileges(DATABASE, null, "orders", "%"), 3), List.of());
            equal(names(about.getVersionColumns(DATABASE, null, "orders"), 2), List.of());
            equal(names(about.getBestRowIdentifier(DATABASE, null, "orders", 0, true), 2), List.of("id"));
            names(about.getClientInfoProperties(), 1);
            equal(about.getUserName().startsWith(System.getenv("CONSOLE_USER")), true);
        }
    }

    static void refused(Statement statement, String sql, int number, String state) throws SQLException {
        try {
            statement.execute(sql);
        } catch (SQLException error) {
            equal(error.getErrorCode(), number);
            equal(error.getSQLState(), state);
            return;
        }
        throw new AssertionError(sql + " went through");
    }

    static void errors() throws Exception {
        try (Connection connection = open(""); Statement statement = connection.createStatement()) {
            refused(statement, "SELEC 1", 1064, "42000");
            refused(statement, "DESCRIBE nothing", 1146, "42S02");
            equal(first(connection, "SELECT 42", 1), "42");
            equal(connection.isValid(5), true);
        }
    }

    static void severalStatements() throws Exception {
        try (Connection connection = open("&allowMultiQueries=true"); Statement statement = connection.createStatement()) {
            equal(statement.execute("SELECT 1; SET @x = 2; SELECT @x"), true);
            equal(names(statement.getResultSet(), 1), List.of("1"));
            equal(statement.getMoreResults(), false);
            equal(statement.getMoreResults(), true);
            equal(names(statement.getResultSet(), 1), List.of("2"));
        }
    }

    static void kill() throws Exception {
        try (Connection connection = open(""); Statement statement = connection.createStatement()) {
            Timer timer = new Timer(true);
            timer.schedule(new TimerTask() {
                @Override
                public void run() {
                    try {
                        statement.cancel();
                    } catch (SQLException error) {
                        throw new IllegalStateException(error);
                    }
                }
            }, 1000, 1000); // a KILL may come before the query
            try {
                statement.executeQuery(SLOW);
            } catch (SQLException error) {
                equal(error.getErrorCode() == 1317 || error.getClass().getName().contains("Cancel"), true);
                return;
            }
            throw new AssertionError("the query went on to its end");
        }
    }

    static String json(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char each : text.toCharArray()) {
            if (each == '"' || each == '\\') out.append('\\').append(each);
            else if (each < 0x20) out.append(String.format("\\u%04x", (int) each));
            else out.append(each);
        }
        return out.append('"').toString();
    }

    static void check(String name, Check check) {
        String outcome = "ok";
        try {
            check.run();
        } catch (Throwable trouble) {
            java.io.StringWriter text = new java.io.StringWriter();
            trouble.printStackTrace(new java.io.PrintWriter(text));
            outcome = text.toString();
        }
        System.out.println("{\"check\": " + json(name) + ", \"outcome\": " + json(outcome) + "}");
    }

    public static void main(String[] arguments) throws Exception {
        scheme = arguments[0];
        try (Connection connection = open("")) {
            System.out.println("{\"version\": " + json(connection.getMetaData().getDriverVersion()) + "}");
        }
        check("login", Client::login);
        check("tls", Client::tls);
        check("values", Client::values);
        check("prepared", Client::prepared);
        check("many rows", () -> {
            try (Connection connection = open(""); Statement statement = connection.createStatement()) {
                equal(count(statement, "SELECT id FROM range(10000)"), 10000);
            }
        });
        check("cursor", Client::cursor);
        check("metadata", Client::metadata);
        check("errors", Client::errors);
        check("several statements", Client::severalStatements);
        check("compression", Client::compression);
        check("kill", Client::kill);
    }
}
