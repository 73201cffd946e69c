# SPDX-License-Identifier: Apache-2.0

"""A card as the description of a volume type, and back.

Members see no managed extra spec, and Cinder changes none of a volume type
that has volumes; but all users of the type see its description, which can be
changed at any time. After the text of the operator it has at most two
sentences, in which no clause is ever cut::

    Promise: PATTERN QUANTITY at least NUMBER, QUANTITY at most NUMBER;
    PATTERN QUANTITY at least NUMBER. Measured TIME on Ceph RELEASE:
    PATTERN (N runs) QUANTITY MEAN [LOW, HIGH], QUANTITY MEAN [LOW, HIGH];
    PATTERN (N runs) QUANTITY MEAN [LOW, HIGH]. Card FINGERPRINT.

in one line; "on Ceph RELEASE" only if it is known; and instead of the second
sentence, ``Not measured since TIME.`` Any other text is the operator's, and
gets a full stop where it ends without one. Pure.
"""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import itertools
import re
import unicodedata

from cinder_tiers.domain.card import card as cards
from cinder_tiers.domain.catalog import expectations

#: Characters of a description, in Cinder's database.
MOST_CHARS = 255
#: Approximate length of a card with one figure; there is a warning if
#: description and promise of a catalog leave less.
ADVISED_CHARS = 120
#: Of words, the last character that needs no full stop behind it, with what
#: Unicode has as forms of these, such as the wide ones of Chinese texts.
_ENDS = tuple('.!?:;,。、؟۔؛،।॥።։')
#: What may stand behind it.
_CLOSING = ')]}"\'»«›‹”“’‘）］】」』》〉'
_PROMISE = 'Promise: '
_AT_LEAST, _AT_MOST = 'at least', 'at most'
_PATTERN = r'[a-z0-9][a-z0-9.-]{0,39}'
_QUANTITY = r'[a-z][a-z0-9_.]{0,39}'
_NUMBER = r'(?:0|[1-9][0-9]{0,24})(?:\.[0-9]{0,24}[1-9])?'
_BOUND = f'(?:{_AT_LEAST}|{_AT_MOST})'
_LIMIT = f'{_QUANTITY} {_BOUND} {_NUMBER}'
_LIMITS = f'{_PATTERN} {_LIMIT}(?:, {_LIMIT})*'
_FIGURE = rf'{_QUANTITY} {_NUMBER} \[{_NUMBER}, {_NUMBER}\]'
_FIGURES = rf'{_PATTERN} \([0-9]{{1,7}} runs\) {_FIGURE}(?:, {_FIGURE})*'
_TIME = r'[0-9]{4}(?:-[0-9]{2}){2}T[0-9]{2}:[0-9]{2}Z'
# Whole sentences, each at the end of a text.
_WHOLE_LIMITS = re.compile(_LIMITS, re.ASCII)
_PROMISED = re.compile(
    rf'(?:^|(?<= ))Promise: (?P<groups>{_LIMITS}(?:; {_LIMITS})*)\.\Z',
    re.ASCII,
)
_MEASURED = re.compile(
    rf'(?:^|(?<= ))Measured (?P<time>{_TIME})'
    rf'(?: on Ceph (?P<release>[1-9][0-9]{{0,2}}))?:'
    rf' (?P<groups>{_FIGURES}(?:; {_FIGURES})*)\.'
    r' Card (?P<fingerprint>[0-9a-f]{6}(?:-[0-9a-f]{6}){0,2})\.\Z',
    re.ASCII,
)
_STALE = re.compile(
    rf'(?:^|(?<= ))Not measured since (?P<time>{_TIME})\.\Z', re.ASCII
)
# The same, wherever they stand.
_SENTENCE = re.compile(
    rf'(?:^|(?<= ))(?:Promise: {_LIMITS}(?:; {_LIMITS})*\.'
    rf'|Measured {_TIME}(?: on Ceph [1-9][0-9]{{0,2}})?: {_FIGURES}'
    rf'|Not measured since {_TIME}\.)',
    re.ASCII,
)


@dataclasses.dataclass(frozen=True)
class _Clause:
    """Part of a description that is written as a whole or not at all."""

    pattern: str
    #: Text after the pattern.
    text: str


def limit_text(name: str, value: float) -> str:
    """Return a limit as a quantity, "at least" or "at most", and a number.

    :param name: name of a limit, see ``expectations.find``.
    :param value: value in the unit of the limit.

    >>> limit_text('p99_ms_max', 20)
    'p99_ms at most 20'
    """
    quantity, _, bound = name.rpartition('_')
    return (
        f'{quantity} {_AT_LEAST if bound == "min" else _AT_MOST} '
        f'{cards.number_text(value)}'
    )


def figure_text(figure: cards.Figure) -> str:
    """Return a figure without its pattern: the mean, and its 95 % interval."""
    mean, low, high = (
        cards.number_text(each)
        for each in (figure.mean, figure.low, figure.high)
    )
    return f'{figure.quantity} {mean} [{low}, {high}]'


def _limit_clauses(
    promise: Mapping[str, Mapping[str, float]],
) -> Iterable[_Clause]:
    for pattern, limits in promise.items():
        for name, value in limits.items():
            clause = _Clause(pattern, limit_text(name, value))
            # Skip a number with more digits than the description has
            # characters.
            if _WHOLE_LIMITS.fullmatch(_joined([clause])):
                yield clause


def _figure_clause(figure: cards.Figure) -> _Clause:
    return _Clause(
        f'{figure.pattern} ({figure.runs} runs)', figure_text(figure)
    )


def _joined(clauses: Iterable[_Clause]) -> str:
    """Return clauses in their order, each pattern once before its clauses."""
    return '; '.join(
        f'{pattern} {", ".join(one.text for one in several)}'
        for pattern, several in itertools.groupby(
            clauses, key=lambda one: one.pattern
        )
    )


def _text(
    card: cards.Card, limits: Sequence[_Clause], figures: Sequence[_Clause]
) -> str:
    parts = []
    if limits:
        parts.append(f'{_PROMISE}{_joined(limits)}.')
    measured = card.measured
    if measured is not None and figures:
        release = (
            ''
            if measured.ceph_release is None
            else f' on Ceph {measured.ceph_release}'
        )
        parts.append(
            f'Measured {measured.ended_at}{release}: {_joined(figures)}. '
            f'Card {measured.fingerprint}.'
        )
    elif measured is None and card.not_measured_since is not None:
        parts.append(f'Not measured since {card.not_measured_since}.')
    if not parts:
        return card.purpose
    return _before_sentences(card.purpose) + ' '.join(parts)


def _before_sentences(words: str) -> str:
    words = _ended(words)
    return f'{words} ' if words else ''


def _ended(words: str) -> str:
    """Words that another sentence may follow.

    Without white space at their end, of which Cinder takes a line break as
    the last character only.

    >>> _ended('For databases '), _ended('快速。'), _ended('Fast (or not?)')
    ('For databases.', '快速。', 'Fast (or not?)')
    """
    words = words.rstrip()
    # In one form, as that of three dots in one character.
    last = unicodedata.normalize('NFKC', words.rstrip(_CLOSING)[-1:])
    return words if not words or last.endswith(_ENDS) else f'{words}.'


def write(card: cards.Card) -> str:
    """Return the description of a volume type.

    If the card is too long, the least important clauses are left out as a
    whole: first the last figures, then the last limits of the promise. If the
    first figure does not fit even without the promise, all figures are left
    out. The operator's text always stays.

    :returns: at most MOST_CHARS characters, unless the purpose has more.

    >>> write(cards.Card(purpose='For databases',
    ...                  promise={'oltp': {'iops_min': 500, 'p99_ms_max': 20}},
    ...                  not_measured_since='2026-11-29T14:05Z'))
    'For databases. Promise: oltp iops at least 500, p99_ms at most 20. \
Not measured since 2026-11-29T14:05Z.'
    """
    limits = list(_limit_clauses(card.promise))
    figures = [
        _figure_clause(one)
        for one in (card.measured.figures if card.measured else ())
    ]
    if len(_text(card, (), figures[:1])) > MOST_CHARS:
        card = dataclasses.replace(
            card, measured=None, not_measured_since=None
        )
        figures = []
    while len(text := _text(card, limits, figures)) > MOST_CHARS:
        if len(figures) > 1:
            figures.pop()
        elif limits:
            limits.pop()
        else:
            break
    return text


def _splits(text: str) -> Iterable[tuple[str, list[str]]]:
    """Yield (pattern, clauses) of each group of a sentence."""
    for group in text.split('; '):
        pattern, _, rest = group.partition(' ')
        runs = ''
        if rest.startswith('('):
            runs, _, rest = rest.partition(') ')
        clauses = re.split(r', (?=[a-z])', rest)
        yield f'{pattern} {runs}'.rstrip(), clauses


def _number(text: str) -> float:
    return float(text) if '.' in text else int(text)


def _read_measured(found: re.Match[str]) -> cards.Measured:
    """Return the record of a sentence.

    :raises ValueError: a value is invalid.
    """
    figures = []
    for head, clauses in _splits(found['groups']):
        pattern, _, runs = head.partition(' (')
        for clause in clauses:
            quantity, mean, low, high = re.split(r' \[|, | ', clause[:-1])
            figures.append(
                cards.Figure(
                    pattern=pattern,
                    quantity=quantity,
                    mean=_number(mean),
                    low=_number(low),
                    high=_number(high),
                    runs=int(runs.removesuffix(' runs')),
                )
            )
    return cards.Measured(
        ended_at=found['time'],
        ceph_release=int(found['release']) if found['release'] else None,
        fingerprint=found['fingerprint'],
        figures=tuple(figures),
    )


def _read_promise(text: str) -> dict[str, dict[str, float]]:
    """Return {pattern: {limit: value}} of a sentence.

    :raises ValueError: a catalog cannot have the promise.
    """
    promise: dict[str, dict[str, float]] = {}
    for pattern, clauses in _splits(text):
        limits = promise.setdefault(pattern, {})
        for clause in clauses:
            quantity, bound, value = re.split(f' ({_BOUND}) ', clause)
            name = f'{quantity}_{"min" if bound == _AT_LEAST else "max"}'
            if name in limits:
                raise ValueError(f'limit {name} stands twice')
            limits[name] = _number(value)
    wrong = [fault.found for fault in expectations.faults(promise)]
    if wrong:
        raise ValueError('; '.join(wrong))
    return promise


def read(text: str) -> cards.Card:
    """Return the card of a description, which anybody may have written.

    :param text: any text.
    :returns: card; text that is not exactly as ``write`` formats it is the
        purpose.
    """
    if len(text) > MOST_CHARS:
        return cards.Card(purpose=text)
    measured, since = None, None
    start = len(text)
    if found := _MEASURED.search(text):
        try:
            measured = _read_measured(found)
        except ValueError:
            return cards.Card(purpose=text)
        start = found.start()
    elif (found := _STALE.search(text)) and cards.is_time(found['time']):
        since = found['time']
        start = found.start()
    promise: dict[str, dict[str, float]] = {}
    is_cut = start < len(text)
    if found := _PROMISED.search(
        text[:start].removesuffix(' ') if is_cut else text
    ):
        try:
            promise = _read_promise(found['groups'])
        except ValueError:
            promise = {}
        else:
            start = found.start()
    if start == len(text):
        return cards.Card(purpose=text)
    words = text[:start]
    card = cards.Card(
        purpose=words.rstrip(),
        promise=promise,
        measured=measured,
        not_measured_since=since,
    )
    # The sentences of a card have exactly one form; no other text counts. The
    # operator's text before them may have been edited.
    if write(dataclasses.replace(card, purpose='')) == text[start:]:
        return card
    return cards.Card(purpose=text)


def purpose(text: str) -> str:
    """Return the operator's text of a description.

    An edited description may have one card after another, of which ``read``
    takes the last, or a line break after it, or no last full stop. The former
    must not become text: it would be a card again once the last is removed.

    :param text: any text; it is unchanged unless it ends with a card.

    >>> purpose('X. Promise: a iops at least 5. Promise: a iops at least 6.')
    'X.'
    """
    ended = words = _ended(text)
    while (found := _ended(read(words).purpose)) != words:
        words = found
    return text if words == ended else words


def is_continued(text: str) -> bool:
    """Return whether text follows a card, so that it counts as text.

    :param text: any text.

    >>> is_continued('X. Not measured since 2026-11-29T14:05Z. Ask Ann.')
    True
    """
    return _SENTENCE.search(purpose(text)) is not None


def room(card: cards.Card) -> int:
    """Return the characters that purpose and promise leave to figures.

    :returns: number of characters, 0 or more.
    """
    limits = list(_limit_clauses(card.promise))
    before = (
        f'{_text(card, limits, ())} '
        if limits
        else _before_sentences(card.purpose)
    )
    return max(0, MOST_CHARS - len(before))
