from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from hypothesis import given
from hypothesis import strategies as st

from syncmgr.job.source_history.heartbeats import Heartbeats, Packet

PERIOD = 5000  # all times here are milliseconds, so that sums are exact
ASKED = 1_000_000
QUIET = Heartbeats(period=PERIOD, sent_at=ASKED, place=4)
BEAT = Packet(place=4, heartbeat=True)


@dataclass(frozen=True)
class Sent:
    """A packet, when it was sent, and when its event was committed."""

    packet: Packet
    at: int
    committed: int = 0


@st.composite
def servers(draw: st.DrawFn) -> list[Sent]:
    """What a server sends: events, late by what it has to read before them, with times of sessions that are older;
    heartbeats for events that it leaves out; and heartbeats for a period in which nothing was committed.
    """
    sent, at, place = list[Sent](), ASKED, 4
    quiet_at = 0  # all that was committed by then is sent
    steps = st.tuples(st.sampled_from(["event", "left out", "quiet", "quiet", "quiet"]), st.integers(0, 12_000))
    for kind, random in draw(st.lists(steps, max_size=40)):
        match kind:
            case "quiet":
                quiet_at = at = at + PERIOD + random % 30
                sent.append(Sent(replace(BEAT, place=place), at))
            case "event":
                at, place = at + random // 10, place + 1
                committed = max(quiet_at, at - random)
                sent.append(Sent(Packet(place=place, time=max(0, committed - random % 2000)), at, committed))
            case _:
                at, place = at + random, place + 1
                sent.append(Sent(replace(BEAT, place=place), at))
    return sent


def arrivals(sent: Sequence[Sent], delays: Sequence[int]) -> list[int]:
    """In order, whatever the delays: what is held back holds back what follows."""
    return list(accumulate((one.at + delay for one, delay in zip(sent, delays, strict=True)), max))


@st.composite
def networks(draw: st.DrawFn, count: int) -> list[int]:
    """The delay of each packet: stalls now and then, and one that stays from some packet on."""
    stalls = st.one_of(st.just(0), st.integers(0, 50), st.integers(0, 100_000))
    delays = draw(st.lists(stalls, min_size=count, max_size=count))
    begin, stays = draw(st.integers(0, count)), draw(st.integers(0, 10 * PERIOD))
    return delays[:begin] + [stays + delay % 50 for delay in delays[begin:]]


@given(st.data())
def test_no_network_makes_it_claim_what_has_not_come(data: st.DataObject) -> None:
    """Stalls, packets that are let through one by one, a delay that stays: whatever is claimed at any moment is not
    after the commit of the first event that has not come, and it never falls.
    """
    sent = data.draw(servers())
    came_at = arrivals(sent, data.draw(networks(len(sent))))
    late = data.draw(st.sampled_from([0, 20, 3000]))  # our reckoning of the server's clock
    known, claims = QUIET, [0.0]
    for number, (one, came) in enumerate(zip(sent, came_at, strict=True)):
        known = known.heard(one.packet, came - late)
        missing = [other.committed for other in sent[number + 1 :] if not other.packet.heartbeat]
        assert known.caught_up_at <= min([came, *missing])
        claims.append(known.caught_up_at)
    assert all(before <= after for before, after in pairwise(claims))


@given(st.integers(1, 500), st.integers(0, 5))
def test_a_quiet_server_is_known_up_to_its_last_heartbeat(beats: int, slow: int) -> None:
    """But for what its heartbeats were late: by some, a server's timer is."""
    known = QUIET
    for number in range(1, beats + 1):
        at = ASKED + number * (PERIOD + slow)
        known = known.heard(BEAT, at)
        assert at - known.caught_up_at == number * slow


def test_heartbeats_of_a_stall_prove_their_own_time_and_no_more() -> None:
    """They come in a bunch, with a row behind them: each proves one period, whenever it comes."""
    known = QUIET.heard(BEAT, ASKED + PERIOD)
    for number in (2, 3):
        known = known.heard(BEAT, ASKED + 100 * PERIOD)
        assert known.caught_up_at == ASKED + number * PERIOD


def test_heartbeats_that_are_let_through_one_by_one_prove_no_more() -> None:
    """Seconds apart they look like those of a network without a stall, and are minutes old."""
    known = QUIET
    for number in range(1, 5):
        known = known.heard(BEAT, ASKED + 100 * PERIOD + number * PERIOD)
        assert known.caught_up_at == ASKED + number * PERIOD


def test_a_heartbeat_that_stands_for_what_was_left_out_proves_nothing() -> None:
    """A server that looks for a GTID says so to keep the line alive, each time from a place further on."""
    known = QUIET.heard(replace(BEAT, place=90), ASKED + PERIOD).heard(replace(BEAT, place=180), ASKED + 2 * PERIOD)
    assert known.caught_up_at == 0.0
    known = known.heard(replace(BEAT, place=180), ASKED + 3 * PERIOD)
    assert known.caught_up_at == ASKED + PERIOD, "the moment at which it was asked is all that is known of it before"


def test_events_say_what_time_it_is_but_not_later_than_now() -> None:
    """A session may have set its time: ahead it is not believed, behind it takes nothing back."""
    event = Packet(place=8, time=ASKED + 3 * PERIOD)
    beat = replace(BEAT, place=8)
    assert QUIET.heard(event, ASKED + 4 * PERIOD).heard(beat, ASKED + 5 * PERIOD).caught_up_at == ASKED + 4 * PERIOD
    assert QUIET.heard(event, ASKED + 10).heard(beat, ASKED + PERIOD).caught_up_at == ASKED + PERIOD
    known = QUIET.heard(replace(event, time=0.0), ASKED + 10).heard(replace(event, time=5.0), ASKED + 20)
    assert known.heard(beat, ASKED + PERIOD).caught_up_at == ASKED + PERIOD


def test_what_stands_in_no_file_moves_no_place() -> None:
    """The head that a server makes for each dump comes before the first heartbeat."""
    head = Packet(place=0)
    assert QUIET.heard(head, ASKED).heard(BEAT, ASKED + PERIOD).caught_up_at == ASKED + PERIOD
