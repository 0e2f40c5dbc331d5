"""HTTP: where it listens, whom it answers, and how much it bears.

Owns: these rows of the table of settings.
Must not know: the other rows, who uses a value.
"""

from typing import Final

from syncmgr.config.checks import Setting, at_least, http_tls, port_or_none, switch

HTTP_SETTINGS: Final[tuple[Setting, ...]] = (
    Setting(
        "http_port",
        8030,
        "port",
        "Port of HTTP: the page, its API, /metrics for Prometheus, /api/health and /api/ready. 0: no HTTP.",
        port_or_none,
    ),
    Setting(
        "http_host",
        "",
        "address",
        "Address that HTTP listens on. Empty: loopback only. Whoever reaches it sees the names of jobs, databases and "
        "targets in /metrics unless http_metrics_auth is ON; everything else needs a login.",
    ),
    Setting(
        "http_tls",
        "AUTO",
        "AUTO, ON or OFF",
        "Whether HTTP speaks TLS, with the console's certificate. AUTO: beyond loopback. OFF: behind a proxy that "
        "does.",
        http_tls,
    ),
    Setting(
        "http_hosts",
        "",
        "names, separated by commas",
        "Further names by which HTTP may be called, besides localhost, addresses and the name of the machine; "
        "requests under other names are refused, since a web page could send them.",
        mutable=True,
    ),
    Setting(
        "http_metrics_auth",
        "OFF",
        "ON or OFF",
        "ON: /metrics needs a login (Basic), and shows the jobs that its user sees.",
        switch,
        mutable=True,
    ),
    Setting(
        "http_connections",
        64,
        "connections",
        "How many HTTP connections there may be; of more, the one ends that has waited longest for its client.",
        at_least(8),
    ),
    Setting(
        "http_request_second",
        10.0,
        "seconds",
        "How long an HTTP client may take to send a request, and to read on in its answer.",
        at_least(0.1),
    ),
    Setting("http_body_bytes", 1 << 20, "bytes", "How long the body of an HTTP request may be.", at_least(1024)),
    Setting(
        "http_streams",
        24,
        "streams",
        "How many pages may be open that are kept up to date (server-sent events); a further one asks again from time "
        "to time. At most half of http_connections.",
        at_least(0),
    ),
    Setting(
        "http_session_second",
        28800.0,
        "seconds",
        "How long a login of the page lasts without a request.",
        at_least(60),
    ),
)
