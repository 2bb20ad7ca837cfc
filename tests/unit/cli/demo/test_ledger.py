"""18.26: the account of the demo finds what was lost, and knows what a list may leave out."""

from __future__ import annotations

import pytest

from kinform.cli.demo._ledger import Ledger, RecordedApi
from kinform.cli.demo._picture import PODS, RESOURCES
from kinform.testing import ApiServer


@pytest.fixture
def ledger() -> Ledger:
    """Four changes of one pod, of which 12 to 13 fall into a gap."""
    ledger = Ledger()
    ledger.wrote(PODS, "shop/web", 11, created=True)
    ledger.wrote(PODS, "shop/web", 12)
    ledger.wrote(PODS, "shop/web", 13)
    ledger.wrote(PODS, "shop/web", 14)
    ledger.open_gap(PODS, 11)
    ledger.close_gap(PODS, 13)
    return ledger


def test_a_change_that_a_later_one_replaced_in_a_gap_is_not_lost(ledger: Ledger) -> None:
    for version in (11, 13, 14):
        ledger.received(PODS, "shop/web", version)
    account = ledger.account(since=10)

    assert (account.written, account.received, account.replaced) == (4, 3, 1)
    assert (account.missing, account.unexpected) == ((), ())


@pytest.mark.parametrize("lost", [11, 13, 14], ids=["before", "last in the gap", "after"])
def test_any_other_change_is_lost(ledger: Ledger, lost: int) -> None:
    for version in {11, 12, 13, 14} - {lost}:
        ledger.received(PODS, "shop/web", version)

    assert ledger.account(since=10).missing == (f"pods shop/web at version {lost}",)


def test_changes_up_to_the_first_list_do_not_count(ledger: Ledger) -> None:
    ledger.received(PODS, "shop/web", 14)

    assert ledger.account(since=13).written == 1
    assert ledger.account(since=13).missing == ()


def test_an_event_that_no_change_explains_is_unexpected(ledger: Ledger) -> None:
    for version in (11, 12, 13, 14, 15):
        ledger.received(PODS, "shop/web", version)

    assert ledger.account(since=10).unexpected == ("pods shop/web at version 15, received 1 times",)


def test_a_deletion_in_a_gap_must_be_received_unless_the_object_was_new() -> None:
    ledger = Ledger()
    ledger.wrote(PODS, "shop/old", 11, created=True)
    ledger.received(PODS, "shop/old", 11)
    ledger.open_gap(PODS, 11)
    ledger.wrote(PODS, "shop/new", 12, created=True)
    ledger.wrote(PODS, "shop/new", 13, deleted=True)
    ledger.wrote(PODS, "shop/old", 14, deleted=True)
    before = ledger.account(since=10)
    ledger.received_deletion(PODS, "shop/old")
    after = ledger.account(since=10)

    assert before.missing == ("pods shop/old at version 14",)
    assert (after.missing, after.received, after.replaced) == ((), 2, 2)


async def test_each_change_of_the_recorded_api_is_noted(kinform_api: ApiServer) -> None:
    ledger = Ledger()
    api = RecordedApi(kinform_api, ledger, RESOURCES)
    since = int(kinform_api.resource_version)
    pod = api.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}})
    pod["spec"]["nodeName"] = "node-1"
    pod = api.update(pod)
    api.update(pod)  # changes nothing
    api.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "other"}})
    assert not api.delete(PODS, "web", "default")
    assert api.delete(PODS, "web", "default", grace_period=0)
    account = ledger.account(since=since)

    # Created, updated, marked; marked again and removed.
    assert account.written == 5
    assert all(each.startswith("pods default/web at ") for each in account.missing)
