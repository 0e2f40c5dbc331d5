"""A receiver of alerts."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Chat:
    """A receiver that keeps what it was sent; `status`: what it answers; `dislikes`: what it answers with 400."""

    def __init__(self) -> None:
        self.received: list[tuple[str, bytes, dict[str, str]]] = []
        self.status = 200
        self.dislikes: bytes | None = None
        chat = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                chat.received.append((self.path, body, {name.lower(): value for name, value in self.headers.items()}))
                self.send_response(400 if chat.dislikes is not None and chat.dislikes in body else chat.status)
                if chat.status == 302:
                    self.send_header("location", "/elsewhere")
                self.end_headers()

            def log_message(self, *_: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook?key=hidden"

    def ids(self) -> list[str]:
        return [json.loads(body)["id"] for _, body, _ in self.received]

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
