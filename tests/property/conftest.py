"""How hypothesis runs here: a slow machine is not a failure."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("kinform", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kinform")
