from hypothesis import given
from hypothesis import strategies as st

from gridner.documents import Document
from gridner.service.drawing import _file_names


@given(st.lists(st.sampled_from(["a", "A", "a-2", "../a", "a/b", "…", "."])))
def test_every_saved_document_has_a_file_name_of_its_own(ids: list[str]) -> None:
    names = _file_names([Document(one, "Pain.") for one in ids])
    assert len({name.lower() for name in names}) == len(names) == len(ids)
    assert all("/" not in name and not name.startswith(".") for name in names)


def test_documents_of_one_id_are_numbered_without_trying_all_numbers() -> None:
    # Trying them all would take minutes: one request can have so many documents.
    assert _file_names([Document("a", "Pain.")] * 20_000)[-1] == "a-20000"
