"""The embedded server, seen through a client and through an informer."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from kinform import Client
from kinform.informers import ListWatch, SharedIndexInformer
from kinform.objects import Unstructured
from kinform.testing import ApiServer
from tests.support.config_maps import MAPS
from tests.support.informer_sources import QUICK


@pytest.fixture
async def client(kinform_api: ApiServer) -> AsyncIterator[Client]:
    async with Client(kinform_api.config) as client:
        yield client


@pytest.fixture
def maps(client: Client) -> SharedIndexInformer[Unstructured]:
    """An informer of the server's config maps, to be started by the test."""
    source = ListWatch.for_resource(client, MAPS, namespace="default")
    return SharedIndexInformer(source, options=QUICK)
