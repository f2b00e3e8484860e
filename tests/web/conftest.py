import pytest

from gridner.recognizer import Recognizer
from models import untrained


@pytest.fixture(scope="session")
def recognizer() -> Recognizer:
    """It finds much, none of it sensible, and always the same."""
    return untrained("toe").recognizer()
