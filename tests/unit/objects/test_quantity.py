"""Quantities are exact numbers, and are sent with the text they came with."""

from __future__ import annotations

import copy
import json
import operator as op
import pickle
from collections.abc import Mapping
from decimal import Decimal, localcontext
from typing import Any

import pytest

from kinform.errors import ConfigError, DecodeError
from kinform.models.core.v1 import (
    Container,
    EnvVar,
    EnvVarSource,
    Pod,
    PodSpec,
    ResourceFieldSelector,
)
from kinform.objects import Quantity


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("0", "0"),
        ("1", "1"),
        ("+1", "1"),
        ("-1.5", "-1.5"),
        (".5", "0.5"),
        ("1.", "1"),
        ("100n", "0.0000001"),
        ("100u", "0.0001"),
        ("500m", "0.5"),
        ("2k", "2000"),
        ("3M", "3000000"),
        ("4G", "4000000000"),
        ("5T", "5000000000000"),
        ("6P", "6000000000000000"),
        ("7E", "7000000000000000000"),
        ("1Ki", "1024"),
        ("64Mi", "67108864"),
        ("1.5Gi", "1610612736"),
        ("1Ti", "1099511627776"),
        ("1Pi", "1125899906842624"),
        ("1Ei", "1152921504606846976"),
        ("1e3", "1000"),
        ("1E3", "1000"),
        ("12e-3", "0.012"),
        ("1E", "1000000000000000000"),
    ],
)
def test_an_amount_is_an_exact_number(written: str, number: str) -> None:
    assert Quantity(written).decimal == Decimal(number)


@pytest.mark.parametrize(
    "written",
    [
        "",
        " ",
        "1 ",
        "x",
        "1KB",
        "1ki",
        "1K",
        "1mi",
        "--1",
        "1e",
        "1.2.3",
        "1e3Ki",
        "1e99999999999999999999",
        "٣",
    ],
)
def test_rubbish_is_no_amount(written: str) -> None:
    """18.4: refused when it is built."""
    with pytest.raises(DecodeError, match=r"is not a quantity.*500m"):
        Quantity(written)


def test_many_digits_are_kept() -> None:
    written = "123456789012345678901234567890.123456789"
    assert Quantity(written).decimal == Decimal(written)
    with localcontext(prec=2):
        assert Quantity("1234567890123Ki").decimal == 1234567890123 * 1024
        assert Quantity("-123.456m").decimal == Decimal("-0.123456")


class TestNumbers:
    """18.4: quantities are numbers, as in Go."""

    def test_they_are_ordered_by_value(self) -> None:
        """18.4: text would order "9" after "10"."""
        assert Quantity("9") < Quantity("10") < Quantity("1Ki") <= Quantity("1024")
        assert Quantity("1Mi") > Quantity("1M") >= Quantity("1000k")
        assert max(Quantity("900m"), Quantity("1")) == Quantity("1")

    def test_spellings_of_a_number_are_equal(self) -> None:
        """18.4: also as keys of a dict."""
        assert Quantity("1") == Quantity("1000m") == Quantity("1e0") == 1 == Quantity(Decimal(1))
        assert len({Quantity("1"), Quantity("1000m"), Quantity("1e0")}) == 1
        assert hash(Quantity("1Ki")) == hash(1024)
        assert Quantity("1") != Quantity("1m")

    def test_they_are_added_subtracted_and_multiplied(self) -> None:
        """18.4: the result has the suffixes of the first operand, unless it is zero."""
        assert str(Quantity("1") + Quantity("500m")) == "1500m"
        assert str(Quantity("1Gi") + Quantity("512Mi")) == "1536Mi"
        assert str(Quantity("1Gi") - Quantity("1Gi")) == "0"
        assert str(Quantity("1Ki") + Quantity("1k")) == "2024"
        assert str(Quantity("1k") + Quantity("1Ki")) == "2024"
        assert str(Quantity() + Quantity("1Ki")) == "1Ki"
        assert str(sum([Quantity("1Mi"), Quantity("1Mi")])) == "2Mi"
        assert str(Quantity("250m") * 4) == "1" == str(4 * Quantity("250m"))
        assert str(Quantity("1Gi") * Decimal("1.5")) == "1536Mi"
        assert str(2 - Quantity("500m")) == "1500m"
        assert str(-Quantity("1Ki")) == "-1Ki" == str(-abs(Quantity("-1Ki")))
        assert str(abs(Quantity("1024"))) == "1024"

    def test_numbers_become_quantities(self) -> None:
        assert str(Quantity(1000)) == "1k"
        assert str(Quantity(Decimal("0.5"))) == "500m"
        assert str(Quantity(Quantity("1000m"))) == "1000m"
        assert str(Quantity(10**5000)) == f"100e{4998}"

    def test_absent_is_zero(self) -> None:
        """18.4: as in Go."""
        assert str(Quantity()) == "0"
        assert Quantity() == 0
        assert not Quantity()
        assert not Quantity("0.0Ki")
        assert Quantity("1n")
        assert ResourceFieldSelector().divisor == 0
        assert ResourceFieldSelector.from_dict({"resource": "limits.cpu"}).divisor == Quantity()

    @pytest.mark.parametrize("value", [0.5, True, None, b"1", Decimal("nan"), Decimal("inf")])
    def test_inexact_numbers_are_refused(self, value: Any) -> None:
        """18.4: the message says what to write instead."""
        with pytest.raises(ConfigError, match=r"not .*; write a fraction as text, such as '0.5'"):
            Quantity(value)

    @pytest.mark.parametrize("other", ["1", 1.0, None, Decimal("nan")])
    def test_they_are_not_compared_with_text_or_floats(self, other: Any) -> None:
        """18.4: equality by value would contradict the hash of a text."""
        one = Quantity("1")
        assert one != other
        for operate in (op.lt, op.le, op.gt, op.ge, op.add, op.sub, op.mul):
            with pytest.raises(TypeError):
                operate(one, other)
        with pytest.raises(TypeError):
            op.mul(one, one)

    def test_the_precision_of_the_program_does_not_matter(self) -> None:
        with localcontext(prec=2):
            assert Quantity("1234567Ki").decimal == 1234567 * 1024
            assert str(Quantity("1234567") + Quantity("1n")) == "1234567000000001n"
            assert str(-Quantity("1234567Ki")) == "-1234567Ki"
            assert Quantity("-1234567Ki").canonical == "-1234567Ki"
            assert Quantity(1234567).canonical == "1234567"


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("1000m", "1"),
        ("1.5", "1500m"),
        ("1.500", "1500m"),
        ("+1", "1"),
        ("-0", "0"),
        ("1.5Gi", "1536Mi"),
        ("1024Ki", "1Mi"),
        ("1023", "1023"),
        ("0.5Ki", "512"),
        ("0.5", "500m"),
        ("1178.5Ki", "1206784"),
        (".965Ki", "988160m"),
        ("1Ki", "1Ki"),
        ("1024", "1024"),
        ("123000", "123k"),
        ("100000", "100k"),
        ("1000E", "1e21"),
        ("1E3", "1e3"),
        ("10e2", "1e3"),
        ("1e-3", "1e-3"),
        ("12e-4", "1200e-6"),
        ("1e0", "1"),
        ("0.1n", "1n"),
        ("-0.1n", "-1n"),
        ("1.0000000001", "1000000001n"),
        ("8Ei", "9223372036854775807"),
        ("-8Ei", "-9223372036854775807"),
    ],
)
def test_the_canonical_text_is_that_of_go(written: str, canonical: str) -> None:
    """18.4: the expected texts are Go's; ``str`` stays as it was written."""
    assert Quantity(written).canonical == canonical
    assert str(Quantity(written)) == written
    assert Quantity(canonical) == Quantity(written)


class TestTheTextOnTheWire:
    """18.4: values are read when they are needed, and sent as they came."""

    POD: Mapping[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a"},
        "spec": {
            "containers": [
                {"resources": {"limits": {"cpu": "1000m", "memory": "rubbish", "x": "0.0"}}}
            ]
        },
    }

    def limits(self, pod: Pod) -> dict[str, Quantity]:
        return pod.spec.containers[0].resources.limits

    def test_it_is_sent_as_it_came(self) -> None:
        """18.4: an edit elsewhere changes no spelling, and a malformed quantity breaks nothing."""
        pod = Pod.from_dict(self.POD).copy()
        assert self.limits(pod)["cpu"] == 1
        pod.spec.containers[0].name = "b"
        sent = pod.to_dict()["spec"]["containers"][0]
        assert sent == {"name": "b", **self.POD["spec"]["containers"][0]}

    def test_another_spelling_of_the_same_number_is_sent(self) -> None:
        pod = Pod.from_dict(self.POD).copy()
        self.limits(pod)["cpu"] = Quantity("1")
        assert pod.to_dict()["spec"]["containers"][0]["resources"]["limits"]["cpu"] == "1"

    def test_a_malformed_one_of_a_server_raises_when_its_value_is_needed(self) -> None:
        """18.4: objects that contain it can still be compared and put into sets."""
        bad = self.limits(Pod.from_dict(self.POD))["memory"]
        assert str(bad) == "rubbish"
        assert bad
        assert bad == Quantity.from_wire("rubbish") != Quantity("1")
        assert bad != 1
        assert len({bad, Quantity.from_wire("rubbish"), Quantity("1")}) == 2
        assert Pod.from_dict(self.POD) == Pod.from_dict(self.POD)
        for operate in (op.lt, op.le, op.gt, op.ge, op.add, op.sub):
            with pytest.raises(DecodeError, match="'rubbish' is not a quantity"):
                operate(bad, Quantity("1"))
            with pytest.raises(DecodeError, match="'rubbish' is not a quantity"):
                operate(Quantity("1"), bad)
        with pytest.raises(DecodeError, match="'rubbish' is not a quantity"):
            _ = bad.canonical

    def test_a_malformed_divisor_is_sent_as_it_came(self) -> None:
        """18.4: also where an absent quantity is zero."""
        for divisor in ("rubbish", "", "0", "0m"):
            selector = {"resource": "limits.cpu", "divisor": divisor}
            env = [{"valueFrom": {"resourceFieldRef": selector}}]
            tree = {**self.POD, "spec": {"containers": [{"env": env}]}}
            pod = Pod.from_dict(tree).copy()
            pod.spec.containers[0].name = "b"
            assert pod.to_dict()["spec"]["containers"][0]["env"] == env

    def test_copies_and_pickles_keep_the_text(self) -> None:
        for quantity in (Quantity("1000m"), Quantity.from_wire("rubbish")):
            for again in (pickle.loads(pickle.dumps(quantity)), copy.deepcopy(quantity)):
                assert again == quantity
                assert str(again) == str(quantity)

    def test_a_long_one_is_read_too(self) -> None:
        assert Quantity.from_wire("1" * 40).decimal == int("1" * 40)


def test_it_shows_what_it_is() -> None:
    assert repr(Quantity("500m")) == "Quantity('500m')"
    assert f"{Quantity('500m')}" == "500m"
    assert f"{Quantity('500m'):>6}" == "  500m"


def test_zero_that_is_not_a_pointer_in_go_is_written() -> None:
    """18.4: Go always writes it, and some of these fields are required."""
    source = EnvVarSource(resource_field_ref=ResourceFieldSelector(resource="limits.cpu"))
    variable = EnvVar(name="CPU", value_from=source)
    pod = Pod(spec=PodSpec(containers=[Container(name="c", env=[variable])]))
    written = json.loads(pod.to_bytes())["spec"]["containers"][0]["env"][0]["valueFrom"]
    assert written["resourceFieldRef"] == {"resource": "limits.cpu", "divisor": "0"}
