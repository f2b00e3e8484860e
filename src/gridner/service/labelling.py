"""Label Studio's labelling configuration: which texts of a task are labelled, and under which names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any
from xml.etree.ElementTree import Element, ParseError

from gridner.errors import UsageError
from gridner.formats.labelstudio import Label

MOST_SHOWN = 10  # labels of an error message


@dataclass(frozen=True, slots=True)
class TextField:
    """A text of each task: a <Text> with the labels of its <Labels>."""

    name: str
    value: str  # where a task has it, such as $text
    labels: Mapping[str, Label] = field(default_factory=dict)  # by type

    def text_of(self, task: Mapping[str, Any], where: str) -> str:
        """Return the text of a task."""
        found: Any = task.get("data")
        for key in self.value.removeprefix("$").split("."):
            found = found.get(key) if isinstance(found, Mapping) else None
        if not isinstance(found, str):
            raise UsageError(f"{where}: no text in data at {self.value:.80}, which <Text name={self.name!r:.40}> shows")
        try:
            found.encode()
        except UnicodeEncodeError as error:
            raise UsageError(f"{where}: character {error.start:,} is a lone surrogate, expected Unicode") from None
        return found


def text_fields(config: str, types: Collection[str]) -> list[TextField]:
    """Return the texts that have labels for some of the types.

    A configuration without any is an error; one without labels at all has no texts.
    """
    root = _parsed(config)
    controls = [one for one in root.iter("Labels") if one.get("name") and one.get("toName")]
    if not controls:
        return []
    found = [
        TextField(name, one.get("value", ""), _labels(name, controls, types))
        for one in root.iter("Text")
        if (name := one.get("name", "")) and one.get("value", "").startswith("$")
    ]
    if found and not any(one.labels for one in found):
        known = list(dict.fromkeys(label.get("value", "") for one in controls for label in one.iter("Label")))
        said = ", ".join(known[:MOST_SHOWN])[:200] or "none"
        raise UsageError(f"labels of the labelling configuration: {said}; expected some of {', '.join(types)}")
    if not found:
        raise UsageError('labelling configuration without <Text value="$…">, expected one that <Labels> refers to')
    return [one for one in found if one.labels]


def _labels(text: str, controls: Collection[Element], types: Collection[str]) -> dict[str, Label]:
    """The labels of a <Text> that are types, by value or by alias; the first of each."""
    found: dict[str, Label] = {}
    for control in controls:
        if text not in [one.strip() for one in control.get("toName", "").split(",")]:
            continue
        for label in control.iter("Label"):
            value, alias = label.get("value", ""), label.get("alias", "")
            for type in (value, alias):
                if type in types:
                    found.setdefault(type, Label(alias or value, control.get("name", ""), text))
    return found


def _parsed(config: str) -> Element:
    import defusedxml
    from defusedxml.ElementTree import fromstring

    try:
        root: Element = fromstring(config, forbid_dtd=True)
    except defusedxml.DefusedXmlException as error:
        raise UsageError(f"labelling configuration: {type(error).__name__}, expected XML without a DTD") from None
    except (ParseError, ValueError) as error:
        raise UsageError(f"labelling configuration: not well-formed ({error!s:.120}), expected XML") from None
    return root
