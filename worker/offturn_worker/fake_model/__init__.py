"""A local server that speaks both model APIs and answers without a model: for the demo and for tests."""

from offturn_worker.fake_model.behaviour import Behaviour
from offturn_worker.fake_model.server import Call, FakeModel

__all__ = ["Behaviour", "Call", "FakeModel"]
