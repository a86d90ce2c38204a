from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackctl.core.doctor.nvidia import BadOutput, handle_faults, matrix, number, read_csv, read_xml
from tests.core.doctor.outputs import CASES, case

MIB = 1 << 20


def test_eight_cards() -> None:
    smi = read_xml(case("rtx-pro-6000-x8.xml"))
    assert (smi.driver, smi.cuda, smi.attached, len(smi.cards)) == ("580.95.05", "13.0", 8, 8)
    first = smi.cards[0]
    assert first.name == "NVIDIA RTX PRO 6000 Blackwell Server Edition"
    assert (first.index, first.bus_id, first.uuid) == (
        0,
        "00000000:01:00.0",
        "GPU-00000000-1111-2222-3333-444444444444",
    )
    assert (first.memory_total, first.memory_used) == (97887 * MIB, 2 * MIB)
    assert (first.power_limit, first.power_default, first.power_max) == (600.0, 600.0, 600.0)
    assert (first.clock_sm, first.clock_sm_max, first.clock_memory_max) == (180, 3090, 14001)
    assert (first.ecc, first.ecc_pending, first.ecc_uncorrected) == (True, True, 0)
    assert (first.persistence, first.mig, first.temperature) == (True, None, 31)
    assert (first.pcie, first.pcie_max) == ("gen 1 x16", "gen 5 x16")
    assert first.slowed == () and first.processes == () and first.fault == ""
    assert first.clock_app_sm is None  # "Requested functionality has been deprecated"
    assert [card.index for card in smi.cards] == list(range(8))


def test_a_consumer_card_with_a_desktop() -> None:
    card = read_xml(case("rtx-5090.xml")).cards[0]
    assert (card.name, card.ecc, card.ecc_uncorrected, card.persistence) == (
        "NVIDIA GeForce RTX 5090",
        None,
        None,
        False,
    )
    assert (card.power_limit, card.power_default) == (450.0, 575.0)
    assert (card.pcie, card.pcie_max) == ("gen 1 x8", "gen 5 x16")
    assert [(one.pid, one.kind, one.memory) for one in card.processes] == [
        (2211, "G", 180 * MIB),
        (2500, "C+G", 90 * MIB),
    ]


def test_hot_cards_with_faulty_memory() -> None:
    cold, hot = read_xml(case("h200-x2.xml")).cards
    assert cold.slowed == () and hot.slowed == ("hw_thermal_slowdown",)
    assert hot.ecc_uncorrected == 3  # parity and SECDED
    assert (hot.ecc, hot.ecc_pending, hot.clock_app_sm) == (True, False, 1980)


def test_a_divided_card_is_one_card() -> None:
    smi = read_xml(case("h200-mig.xml"))
    assert len(smi.cards) == 1 and smi.cards[0].mig is True
    assert smi.cards[0].memory_total == 143771 * MIB  # not that of a part


def test_what_is_not_known_is_none() -> None:
    card = read_xml(case("nothing-known.xml")).cards[0]
    assert card.fault == ""
    for value in (card.memory_total, card.power_limit, card.clock_sm, card.ecc, card.persistence, card.temperature):
        assert value is None
    assert card.pcie == ""


def test_a_lost_card_says_so_and_the_others_are_read() -> None:
    cards = read_xml(case("one-lost-of-8.xml")).cards
    assert cards[3].fault == "GPU is lost" and cards[3].memory_total is None and cards[3].ecc is None
    assert [card.index for card in cards if card.fault] == [3]


def test_processes_of_several_cards() -> None:
    cards = read_xml(case("busy-x8.xml")).cards
    assert [(one.pid, one.name) for one in cards[0].processes] == [(4000, "sglang::scheduler_TP0"), (9000, "python3")]
    assert cards[0].slowed == ("sw_power_cap",)


def test_the_csv() -> None:
    rows = read_csv(case("rtx-pro-6000-x8.csv"))
    assert len(rows) == 8
    assert (rows[5]["index"], rows[5]["compute_cap"], rows[5]["memory.total"]) == ("5", "12.0", "97887")
    assert "clocks.applications.gr" not in rows[5]
    assert read_csv("No devices were found\n") == [] == read_csv("")
    assert read_csv("index, uuid\n0, GPU-1, more\n1, GPU-2\n") == [{"index": "1", "uuid": "GPU-2"}]


def test_matrices() -> None:
    ways = matrix(case("topo-m-x8.txt"))
    assert (ways["0-1"], ways["0-2"], ways["0-4"], len(ways)) == ("PIX", "NODE", "SYS", 28)
    assert set(matrix(case("topo-p2p-x8.txt")).values()) == {"OK"}
    bad = matrix(case("topo-p2p-cns-x8.txt"))
    assert (bad["1-2"], bad["0-1"], bad["3-4"]) == ("OK", "CNS", "CNS")
    assert matrix("") == {} == matrix("No devices were found")


def test_a_matrix_with_colours_and_network_cards() -> None:
    head = "\t\x1b[4mGPU0\tGPU1\tNIC0\tCPU Affinity\x1b[0m\n"
    rows = "GPU0\t X \tOK\tNODE\t0-3\nGPU1\tCNS\t X \tSYS\t0-3\nNIC0\tNODE\tSYS\t X\n"
    assert matrix(head + rows) == {"0-1": "CNS"}  # the direction that is not OK counts


@pytest.mark.parametrize("said", ["GPU0000:61:00.0: {}", "GPU3: 0000:61:00.0: {}", "GPU 0000:61:00.0: {}"])
def test_cards_without_a_handle(said: str) -> None:
    assert handle_faults("Unable to determine the device handle for " + said.format("Unknown Error")) == {
        "0000:61:00.0": "Unknown Error"
    }
    assert list(handle_faults(case("no-handle.txt"))) == ["0000:61:00.0"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no XML"),
        ("NVIDIA-SMI has failed", "no XML"),
        ("<other/>", "begins with <other>"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><nvidia_smi_log>&a;</nvidia_smi_log>', "declares entities"),
        ('<!DOCTYPE x SYSTEM "a" [<!ELEMENT b ANY>]><nvidia_smi_log/>', "declares entities"),
        ('<!DOCTYPE x SYSTEM "a"><!DOCTYPE y []><nvidia_smi_log/>', "declares entities"),
        ("<nvidia_smi_log>&nbsp;</nvidia_smi_log>", "no XML"),
        ("<nvidia_smi_log>" + " " * (9 << 20) + "</nvidia_smi_log>", "characters"),
        ("<nvidia_smi_log>\ud800</nvidia_smi_log>", "no XML"),
    ],
)
def test_xml_of_a_hostile_host_is_refused(text: str, why: str) -> None:
    with pytest.raises(BadOutput) as error:
        read_xml(text)
    assert why in str(error.value)


def test_its_own_doctype_is_fine() -> None:
    assert read_xml(
        '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n<nvidia_smi_log/>'
    )
    assert read_xml("<!DOCTYPE nvidia_smi_log SYSTEM 'x.dtd'><nvidia_smi_log/>").cards == ()


def test_a_deep_nest_is_no_trouble() -> None:
    assert read_xml("<nvidia_smi_log>" + "<a>" * 5000 + "</a>" * 5000 + "</nvidia_smi_log>").cards == ()


@given(st.text(alphabet="<>gpu/nvidia_smi_log!DOCTYPE[]&;\"' \n019", max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    for given_text in (text, f"<nvidia_smi_log><gpu>{text}</gpu></nvidia_smi_log>"):
        try:
            read_xml(given_text)
        except BadOutput:
            continue


@given(st.text(max_size=300))
def test_any_text_makes_a_matrix_and_rows(text: str) -> None:
    assert isinstance(matrix(text), dict) and isinstance(read_csv(text), list)


@pytest.mark.parametrize(
    ("said", "found"), [("600.00 W", 600.0), ("16x", 16.0), ("-2 C", -2.0), ("N/A", None), ("", None), (None, None)]
)
def test_numbers(said: str | None, found: float | None) -> None:
    assert number(said) == found


def test_every_case_says_that_it_was_not_captured() -> None:
    for path in CASES.iterdir():
        assert "written from the documented format, not captured" in path.read_text(), path.name
