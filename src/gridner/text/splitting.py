"""Split text into sentences and words by rules. docs/sentences.md compares them with other splitters.

The rules are for clinical notes, articles and forum posts, where a line end may wrap a sentence, end a heading or
separate the items of a list, and where a sentence may begin with a lower-case letter.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from gridner.documents import Fragment

# Words before a full stop that do not end a sentence: never, or only before a capital letter.
NEVER_LAST = frozenset(
    """al approx c.f ca cat cf dr drs e.g eg eq eqs esp ext fig figs gen hosp i.e mr mrs ms mt no nos pt pts prof ref
    refs resp sp spp ssp st subsp suppl tab univ viz vol vs""".split()
)
BEFORE_NUMBERS = ("approx", "ca", "eq", "eqs", "ext", "fig", "figs", "nos", "ref", "refs", "vol")  # "Fig.\n2. The"
RARELY_LAST = frozenset("co corp etc hr hrs inc jr ltd max min mo sec sr tabs var wk wks yr yrs".split())
# Words that begin a sentence even after an initial: "vitamin C. The", not "J. Smith".
STARTER = re.compile(
    r"""(?:A|After|All|Although|An|As|At|Both|But|By|Each|For|From|He|Her|His|However|I|If|In|It|Its|No|On|Our|She|Since|
    Some|That|The|Their|There|These|They|This|Those|Thus|To|Two|Under|We|When|While|With)\b(?!\.)""",
    re.VERBOSE,
)
INITIALS = re.compile(r"(?:[A-Z]\.-?)*[A-Z]$")

# A line with such an end continues in the next one; a line with such a start is a new sentence.
CONTINUES = re.compile(
    r"""(?:[,(/&]|\b(?:a|an|and|are|as|at|by|for|from|had|has|have|he|her|his|in|is|of|on|or|she|the|to|was|were|which|who|
    with))$""",
    re.VERBOSE,
)
BULLET_OR_HEADER = re.compile(r"[-*•·▪●○◦–—>]\s|[A-Z][A-Za-z]*(?:[ /&][A-Za-z]+){0,4}:\s")
ITEM = re.compile(r"\(?(?:\d{1,3}|[A-Za-z])[.)]\s")  # "1. ", "a) "

NEWLINE = re.compile(r"\r\n|[\n\r\v\f\x85\u2028\u2029]")
CANDIDATE = re.compile(
    r"""(?<![.?!…؟।۔])(?P<mark>[.?!…؟।۔]+)(?P<close>['"”’»)\]]*)\s+  # a mark that may end a sentence, then white space
      | (?P<full>[。！？]+[」』”’）]*)\s*                               # a mark that does, and needs no white space
      | (?<=[A-Za-z)%])(?P<joined>\.,)(?=\d{1,2}\.\s)                # the end of an item, where line ends became commas
      | [\n\r\v\f\x85\u2028\u2029]\s*                                 # a line end without a mark""",
    re.VERBOSE,
)


def split_sentences(text: str) -> Iterator[Fragment]:
    """Yield sentences, which together cover the text."""
    start = 0
    newlines = [match.span() for match in NEWLINE.finditer(text)]
    line_starts = [0, *(after for _, after in newlines)]
    width = max(end - line for line, (end, _) in zip(line_starts, [*newlines, (len(text), 0)], strict=True))
    for match in CANDIDATE.finditer(text):
        if match.end() < len(text) and _is_boundary(text, match, start, line_starts, width):
            yield Fragment(start, match.end())
            start = match.end()
    if start < len(text):
        yield Fragment(start, len(text))


def split_lines(text: str) -> Iterator[Fragment]:
    """Yield lines as sentences, for texts with one sentence per line."""
    for line in re.finditer(r"[^\n\r\v\f\x85\u2028\u2029]+", text):
        yield Fragment(line.start(), line.end())


def _is_boundary(text: str, match: re.Match[str], start: int, line_starts: list[int], width: int) -> bool:
    line_ends = len(NEWLINE.findall(match[0]))
    if line_ends > 1 or match["full"] or match["joined"]:  # a blank line always separates sentences
        return True
    if match["mark"] and _ends_sentence(text, match, start):
        return True
    if not line_ends:
        return False
    if BULLET_OR_HEADER.match(text, match.end()) or _starts_list(text, match):
        return True
    if match["mark"] or _only_wraps(text, match, line_starts, width):
        return False
    return not text[match.end()].islower() or ITEM.match(text, match.end()) is not None


def _ends_sentence(text: str, match: re.Match[str], start: int) -> bool:
    """Return whether a punctuation mark ends the sentence that begins at `start`."""
    mark, after = match["mark"], text[match.end()]
    if after in ",;:.)]}" or (after in "%/&=<>" and mark == "."):
        return False
    if mark != ".":
        return not after.islower() or (mark[0] in "?!" and not match["close"])
    before = text[max(start, match.start() - 24) : match.start()].split()
    word = before[-1].lstrip("([{\"'“‘") if before else ""
    if word in ("cat", "no", "tab"):  # "Allergies: no. He smokes", but "cat. no. 5"
        return STARTER.match(text, match.end()) is not None or _starts_item(text, match)
    if not word or (word.lower() in NEVER_LAST and word != "ms"):  # "Ms. Li", but "500 ms. After"
        return word.lower() not in ("", *BEFORE_NUMBERS) and after.isdigit() and _starts_item(text, match)
    if word.isdigit() and match.start() - start < 8 and not text[start : match.start() - len(word)].strip("( \t-*•"):
        return False  # the number of an item
    if word == "1" and before[-2:-1] and before[-2].rstrip(",").endswith(":"):
        return False  # the number of the first item after a heading
    if word.lower() in RARELY_LAST or (len(word) == 1 and word.islower()):
        return after.isupper() or _starts_item(text, match)
    if not word[-1].isalnum():
        return True
    if not match["close"] and INITIALS.match(word):
        if NEWLINE.search(match[0]):  # an initial does not bind across a line end, but "E.\ncoli" does
            return not after.islower() or _starts_item(text, match)
        return STARTER.match(text, match.end()) is not None
    return not after.islower() or (len(word) > 3 and "." not in word)  # "b.i.d. and", but "two weeks. it was"


def _starts_item(text: str, match: re.Match[str]) -> bool:
    """Return whether the next line is an item of a list."""
    return NEWLINE.search(match[0]) is not None and ITEM.match(text, match.end()) is not None


def _starts_list(text: str, match: re.Match[str]) -> bool:
    """Return whether a line that ends in a colon is followed by an item."""
    before = text[max(0, match.start() - 8) : match.start()].rstrip()
    return before.endswith(":") and _starts_item(text, match)


def _only_wraps(text: str, match: re.Match[str], line_starts: list[int], width: int) -> bool:
    """Return whether a line end only wraps a line: the line is long, or the next word would not have fitted on it."""
    line = text[line_starts[bisect_right(line_starts, match.start()) - 1] : match.start()].rstrip()
    next_word = text[match.end() : match.end() + 40].split(maxsplit=1)[0]
    full = len(line) >= 50 or (len(line) >= 30 and len(line) + 1 + len(next_word) > width)
    return full or CONTINUES.search(line) is not None


# Words cover every character that is not white space. Hyphens, slashes and other signs are words of their own; digits
# end a word (p53, H3|K9, 5|mg); marks, joiners and emoji sequences stay with their base; scripts without spaces are cut
# into characters. "post" before a stem is a word, as in "post-natal": annotators of biomedical text mark the stem.
_MARK = (
    r"\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    r"\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u0980-\u0df3\u0e31-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ebc\u0ec8-\u0ece"
    r"\u0f18-\u0f19\u0f35-\u0f39\u0f71-\u0f84\u0f86-\u0fbc\u102b-\u103e\u1056-\u109d\u17b4-\u17d3\u1ab0-\u1aff\u1dc0-\u1dff"
    r"\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f"
)
_JOINER = r"\u00ad\u200c\u200d\u2060"  # soft hyphen, zero-width non-joiner and joiner, word joiner
_CJK = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_LETTER = rf"[^\W\d_{_CJK}]"
WORD = re.compile(
    rf"(?<![^\W\d_])[Pp]ost(?!er|ul|ur|age|al|ing|pon)(?=[a-z]{{4}})"
    rf"|{_LETTER}+(?:[{_MARK}{_JOINER}]+{_LETTER}*)*[0-9]*"
    rf"|\d+(?:\.\d+)?[{_MARK}]*"
    rf"|[{_CJK}][{_MARK}]*"
    r"|[\U0001F1E6-\U0001F1FF]{2}"  # flags
    rf"|[^\s](?:[{_MARK}\U0001F3FB-\U0001F3FF\U000E0020-\U000E007F]|\u200d[^\w\s])*"  # a sign; an emoji as a whole
)


def tokenize(text: str, start: int = 0, end: int | None = None) -> Iterator[Fragment]:
    """Yield the words among the characters `start` to `end`, which together cover all but white space."""
    for match in WORD.finditer(text, start, len(text) if end is None else end):
        yield Fragment(match.start(), match.end())
