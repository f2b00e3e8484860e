from support.models_page import PAGE, page


def test_the_page_of_models_says_what_the_models_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "write it again: python tests/support/models_page.py"
