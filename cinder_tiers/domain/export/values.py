# SPDX-License-Identifier: Apache-2.0

"""Existing texts as values of a catalog. Pure."""

import re

from cinder_tiers.domain.catalog import limits
from cinder_tiers.domain.catalog import model

_INTEGER = re.compile('-?[0-9]{1,20}')
_FLOAT = re.compile(r'-?[0-9]{1,15}\.[0-9]{1,15}')


def is_writable(text: str) -> bool:
    """Return whether YAML can hold a text: it has no surrogates."""
    return not any('\ud800' <= char <= '\udfff' for char in text)


def is_option(text: str) -> bool:
    """Return whether a catalog can hold a text as the value of an option."""
    return is_writable(text) and limits.OPTION.fits(text)


def plain_value(text: str) -> model.Value:
    """Return a value with the meaning of the text, without quotes if possible.

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
