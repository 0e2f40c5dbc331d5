import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmgr.sources.canal import packet
from syncmgr.sources.canal.packet import Answer, Delivery, Greeting, MalformedPacketError
from syncmgr.sources.canal.proto import entry_pb2, packet_pb2


def body_of(frame: bytes) -> packet_pb2.Packet:
    assert packet.frame_size(frame[:4]) == len(frame) - 4
    return packet_pb2.Packet.FromString(frame[4:])


def test_a_greeting_is_read() -> None:
    """The first frame of a real server gives its seed."""
    assert packet.reply(bytes.fromhex("100118012a0a12080102030405060708")) == Greeting(bytes(range(1, 9)))


def test_an_answer_is_read() -> None:
    """Success has no body at all; an error has its number and words."""
    assert packet.reply(bytes.fromhex("10011803")) == Answer(0, "")
    ack = packet_pb2.Ack(error_code=400, error_message="auth failed for user:x").SerializeToString()
    frame = packet_pb2.Packet(version=1, type=packet_pb2.ACK, body=ack).SerializeToString()
    assert packet.reply(frame) == Answer(400, "auth failed for user:x")


def test_an_empty_delivery_is_read() -> None:
    """What a real server sends when nothing came in time."""
    assert packet.reply(bytes.fromhex("100118072a0b08ffffffffffffffffff01")) == Delivery(-1, ())


def test_entries_stay_bytes() -> None:
    """A delivery is handed on undecoded; each entry is parsed by who needs it."""
    entries = [entry_pb2.Entry(entryType=entry_pb2.ROWDATA, storeValue=b"x" * n).SerializeToString() for n in range(3)]
    messages = packet_pb2.Messages(batch_id=7, messages=entries).SerializeToString()
    frame = packet_pb2.Packet(type=packet_pb2.MESSAGES, body=messages).SerializeToString()
    assert packet.reply(frame) == Delivery(7, tuple(entries))
    assert [packet.entry(each).storeValue for each in entries] == [b"", b"x", b"xx"]


@pytest.mark.parametrize(
    ("password", "seed", "token"),
    [
        ("canal", "0102030405060708", b"7de44690d8e53782cb61804a2455c284a3bbfb06"),
        ("", "0102030405060708", b""),
        ("canal", "", b"canal"),
    ],
)
def test_a_password_is_scrambled(password: str, seed: str, token: bytes) -> None:
    """As MySQL's native password, in hex; servers before 1.1.4 send no seed and compare nothing."""
    assert packet.scrambled(password, bytes.fromhex(seed)) == token


def test_requests_are_what_a_server_reads() -> None:
    """Every request names the destination and the client; GET has its time-out in milliseconds."""
    sub = packet_pb2.Sub.FromString(body_of(packet.subscription("d", r"shop\.orders")).body)
    assert (sub.destination, sub.client_id, sub.filter) == ("d", "1001", r"shop\.orders")
    get = packet_pb2.Get.FromString(body_of(packet.get("d", 4096, 100)).body)
    assert (get.fetch_size, get.timeout, get.unit) == (4096, 100, 2)
    ack = packet_pb2.ClientAck.FromString(body_of(packet.acknowledgement("d", 9)).body)
    assert (ack.destination, ack.client_id, ack.batch_id) == ("d", "1001", 9)
    back = packet_pb2.ClientRollback.FromString(body_of(packet.rollback("d")).body)
    assert (back.client_id, back.batch_id) == ("1001", 0)
    auth = packet_pb2.ClientAuth.FromString(body_of(packet.authentication("u", "", b"seed")).body)
    assert (auth.username, auth.password, auth.net_read_timeout) == ("u", b"", 3_600_000)


@pytest.mark.parametrize("head", ["00000000", "ffffffff", "40000001", "7fffffff"])
def test_no_frame_is_larger_than_an_entry_can_be(head: str) -> None:
    """A length that cannot be true is refused before anything is allocated for it."""
    with pytest.raises(MalformedPacketError, match="a frame of"):
        packet.frame_size(bytes.fromhex(head))


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (packet_pb2.Packet(type=packet_pb2.GET), "a packet of type 6"),
        (packet_pb2.Packet(type=packet_pb2.MESSAGES, compression=3), "compressed by method 3"),
        (packet_pb2.Packet(type=packet_pb2.MESSAGES, body=b"\xff"), "a broken Messages"),
    ],
)
def test_what_no_server_sends_is_named(frame: Any, words: str) -> None:
    """A frame of the wrong kind is an error that says which."""
    with pytest.raises(MalformedPacketError, match=words):
        packet.reply(frame.SerializeToString())


@given(st.binary(max_size=200), st.integers(0, 199), st.integers(0, 255))
def test_broken_bytes_end_in_one_error(noise: bytes, at: int, byte: int) -> None:
    """Whatever a frame holds, it is a reply or a MalformedPacketError."""
    messages = packet_pb2.Messages(batch_id=1, messages=[noise, os.urandom(3)]).SerializeToString()
    whole = bytearray(packet_pb2.Packet(type=packet_pb2.MESSAGES, body=messages).SerializeToString())
    whole[at % len(whole)] = byte
    for read in (packet.reply, packet.entry, packet.row_change):
        for data in (noise, bytes(whole), bytes(whole[:at])):
            try:
                read(data)
            except MalformedPacketError:
                continue


def test_a_delivery_of_entries_without_end() -> None:
    """Entries of no bytes take two each on the wire, and many times as much here."""
    frame = packet_pb2.Packet(type=packet_pb2.MESSAGES, body=b"\x08\x07" + b"\x12\0" * (packet.MAX_ENTRIES + 1))
    with pytest.raises(MalformedPacketError, match="more than 1000000 entries"):
        packet.reply(frame.SerializeToString())
    many = packet_pb2.Messages(batch_id=7, messages=[b"\x12" * (packet.MAX_ENTRIES + 1)]).SerializeToString()
    frame = packet_pb2.Packet(type=packet_pb2.MESSAGES, body=many)
    assert packet.reply(frame.SerializeToString()) == Delivery(7, (b"\x12" * (packet.MAX_ENTRIES + 1),))


def test_an_entry_with_a_header_without_end() -> None:
    """In one, or in many that protobuf would put together; a large entry of an ordinary one is read."""
    pair = entry_pb2.Header(props=[entry_pb2.Pair()]).SerializeToString()
    whole = pair * (packet.MAX_HEADER // len(pair) + 1)
    bombs = (
        entry_pb2.Entry(header=entry_pb2.Header.FromString(whole)).SerializeToString(),
        (b"\x0a" + bytes([len(pair)]) + pair) * (packet.MAX_HEADER // len(pair) + 1),
    )
    for bomb in bombs:
        with pytest.raises(MalformedPacketError, match="bytes of a header"):
            packet.entry(bomb)
    large = entry_pb2.Entry(header=entry_pb2.Header(tableName="t"), storeValue=bytes(2 * packet.MAX_HEADER))
    assert packet.entry(large.SerializeToString()) == large
