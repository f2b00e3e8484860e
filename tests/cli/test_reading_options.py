import pytest
import typer
from typer.testing import CliRunner

from gridner.cli.reading_options import ReadingOptions, reading_options, type_names
from gridner.errors import UsageError


def run(*arguments: str, without: tuple[str, ...] = ()) -> tuple[ReadingOptions | None, str]:
    """What a command with these options gets, and what it prints."""
    seen: list[ReadingOptions] = []
    app = typer.Typer(add_completion=False)

    @app.command()
    @reading_options(without=without)
    def command(path: str, *, reading: ReadingOptions, loud: bool = False) -> None:
        typer.echo(f"{path} {loud}")
        seen.append(reading)

    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "120", "TERM": "dumb"})
    return (seen[0] if seen else None), result.output


def test_a_command_gets_its_own_arguments_and_all_reading_options_as_one() -> None:
    reading, output = run("corpus", "--loud", "-f", "brat", "--types", "A,B", "--types", "C", "--lenient")
    assert output.split() == ["corpus", "True"]
    assert reading == ReadingOptions(format="brat", types=["A,B", "C"], lenient=True)


def test_without_any_option_the_defaults_of_the_class_hold() -> None:
    assert run("corpus")[0] == ReadingOptions()


def test_an_option_that_is_left_out_is_unknown() -> None:
    reading, output = run("corpus", "--texts", "folder", without=("texts",))
    assert reading is None
    assert "--texts" in output


def test_help_shows_the_reading_options_in_a_panel_of_their_own() -> None:
    _, output = run("--help")
    own, panel = output.split("Reading options")
    assert "--loud" in own
    assert "--loud" not in panel
    assert all(option in panel for option in ("--format", "--ids", "--except-ids", "--sentences", "--repair"))


def test_type_names_are_separated_by_commas_or_repetition() -> None:
    assert type_names(["A, B", "C"]) == ["A", "B", "C"]


def test_an_empty_type_name_is_refused() -> None:
    with pytest.raises(UsageError, match="empty name"):
        type_names(["A,,B"])
