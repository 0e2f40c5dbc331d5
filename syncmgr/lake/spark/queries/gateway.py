"""py4j's connection to a second JVM besides the one that PySpark knows.

Owns: the connection, and which error a Java exception from there is.
Must not know: Spark.

PySpark keeps one gateway for the whole process: it asks that one's JVM about any Java exception of py4j, whichever JVM
it came from. So the exceptions of this one are separated before PySpark sees them.
"""

from typing import Final

from py4j.clientserver import SHUTDOWN_FINALIZER_WORKER, ClientServer, JavaClient, JavaParameters, PythonParameters
from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JError, Py4JJavaError, get_return_value, is_error

from syncmgr.lake.spark.jvm import Java, causes, close_connections, message_of

THROWABLE: Final = "org.apache.spark.SparkThrowable"
LONGEST_PARAMETER: Final = 8 << 10  # characters
OF_A_TASK: Final = "org.apache.spark.SparkException"  # what it is about is in its causes


class JavaFailedError(Py4JError):  # type: ignore[misc] # py4j is untyped
    """A Java exception of this JVM: its class, all that it says, and the parameters of Spark's message."""

    def __init__(self, gateway: "Gateway | None", exception: Java) -> None:
        self.kind = str(exception.getClass().getName())
        super().__init__(self.kind)
        spark = gateway is not None and bool(is_instance_of(gateway, exception, THROWABLE))
        self.parameters = _parameters(gateway, exception) if gateway is not None and spark else {}
        is_whole = spark and self.kind != OF_A_TASK
        self.text = message_of(exception).removeprefix(f"{self.kind}: ") if is_whole else "\n".join(causes(exception))


def _parameters(gateway: "Gateway", exception: Java) -> dict[str, str]:
    """Each as far as a name goes: one may be a value of any length."""
    found = exception.getMessageParameters()
    if found is None:
        return {}
    entries, java = gateway.jvm.java.util.HashMap(found).entrySet().toArray(), gateway.jvm.java.lang.String
    texts = (str(java.format(f"%{place}$.{LONGEST_PARAMETER}s", entries)) for place in range(1, len(entries) + 1))
    return {name: value for name, _, value in (text.partition("=") for text in texts)}


class _Client(JavaClient):  # type: ignore[misc] # py4j is untyped
    gateway: "Gateway | None" = None

    def send_command(self, command: str, retry: bool = True, binary: bool = False) -> object:  # noqa: FBT001, FBT002 - py4j's
        answer = super().send_command(command, retry, binary)
        if not binary and is_error(answer)[0]:
            try:
                get_return_value(answer, self)
            except Py4JJavaError as error:
                raise JavaFailedError(self.gateway, error.java_exception) from None
        return answer


class Gateway(ClientServer):  # type: ignore[misc] # py4j is untyped
    """One JVM. Each Python thread has a thread of its own there."""

    def __init__(self, port: int, secret: str) -> None:
        java = JavaParameters(port=port, auth_token=secret, auto_convert=True)
        super().__init__(java_parameters=java, python_parameters=PythonParameters(port=0, eager_load=False))
        self._gateway_client.gateway = self

    def _create_gateway_client(self) -> _Client:
        waste = self._create_finalizer_worker()
        return _Client(self.java_parameters, self.python_parameters, finalizer_deque=waste)

    def let_go(self) -> None:
        """Java objects that Python forgets from now on are not reported to the JVM, which is about to end."""
        self._gateway_client.is_connected = False
        self._gateway_client.finalizer_deque.appendleft(SHUTDOWN_FINALIZER_WORKER)

    def close_connections(self) -> None:
        """Of a JVM that has ended."""
        close_connections(self._gateway_client)
