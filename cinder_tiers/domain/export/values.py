# SPDX-License-Identifier: Apache-2.0

"""Texts that exist, as values that a catalog can hold. Pure."""

import re

from cinder_tiers.domain.catalog import limits
from cinder_tiers.domain.catalog import model

_INTEGER = re.compile('-?[0-9]{1,20}')
_FLOAT = re.compile(r'-?[0-9]{1,15}\.[0-9]{1,15}')


def is_writable(text: str) -> bool:
    """Whether YAML can hold a text: not when half of a character is in it."""
    return not any('\ud800' <= char <= '\udfff' for char in text)


def is_option(text: str) -> bool:
    """Whether a catalog can hold a text as the value of an option."""
    return is_writable(text) and limits.OPTION.fits(text)


def plain_value(text: str) -> model.Value:
    """A value that means the same text, and needs no quotes where possible.

    >>> plain_value('true'), plain_value('7'), plain_value('07')
    (True, 7, '07')
    """
    if text in ('true', 'false'):
        return text == 'true'
    if _INTEGER.fullmatch(text) and str(int(text)) == text:
        return int(text)
    if _FLOAT.fullmatch(text) and str(float(text)) == text:
        return float(text)
    return text
