from __future__ import annotations

import pytest
from vocabularies import bytewise

from structgen.grammars import TokenVocabulary


@pytest.fixture(scope="package")
def letters() -> TokenVocabulary:
    """The bytes, an end token, and a few longer tokens."""
    return bytewise(b"ab", b"abc", b"yes", b"no", b'{"', b'":')
