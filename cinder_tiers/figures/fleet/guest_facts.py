# SPDX-License-Identifier: Apache-2.0

"""Reports of guests about themselves, checked strictly.

``facts.sh`` prints them: the event FACTS once, and the use of CPUs in END.
Texts come from inside a guest: they are cleaned and cut.  Pure.
"""

import re

from cinder_tiers.figures.fleet import guest_system
from cinder_tiers.figures.protocol import frames

_MAX_CHARS = 64
_MAX_CPUS = 4096
_UNFIT = re.compile(r'[^A-Za-z0-9 ()@+,.:/_-]', re.ASCII)
# Each hypervisor gives its guests a clock of its own.
_CLOCKS = (('kvm-clock', 'kvm'), ('xen', 'xen'), ('hyperv', 'hyperv'))


def _clean(text: str | None) -> str | None:
    """A text as it may be shown; None if nothing is left of it."""
    words = _UNFIT.sub('?', (text or '')[:_MAX_CHARS]).split()
    return ' '.join(words) or None


def _hypervisor(
    model: str | None, clocks: str, vendor: str | None
) -> str | None:
    for mark, name in _CLOCKS:
        if mark in clocks:
            return name
    if model and 'qemu' in model.lower():
        return 'qemu'
    return vendor


_SPENT = {
    'fill': ('BOOT', 'PREPARED'),
    'rounds': ('PREPARED', 'PRECONDITIONED'),
}


def spent_seconds(
    console: frames.GuestConsole, part: str, most_seconds: float
) -> float | None:
    """Return the time that a guest took for a part of its preparation.

    :param part: ``fill`` for its region, or ``rounds`` for those before the
        first turn
    :param most_seconds: elapsed time; a longer duration is rejected
    :returns: None if the guest did not report it
    """
    at = {event.name: event.integer('at') for event in console.events}
    begin, end = (at.get(name) for name in _SPENT[part])
    if begin is None or end is None:
        return None
    spent = (end - begin) / 1000
    return spent if 0 <= spent <= most_seconds else None


def system(console: frames.GuestConsole) -> guest_system.GuestSystem | None:
    """Parse a guest's report of its system.

    :param console: text heard from the guest
    :returns: None if the guest did not report it
    """
    event = console.event('FACTS')
    if event is None:
        return None

    def fact(key: str) -> str | None:
        # Words of a field are joined by this.
        return _clean(event.fields.get(key, '').replace('_', ' '))

    cpus, model = event.integer('cpus'), _clean(event.text)
    return guest_system.GuestSystem(
        cpu_model=model,
        cpus=cpus if cpus and 0 < cpus <= _MAX_CPUS else None,
        hypervisor=_hypervisor(
            model, event.fields.get('clocks', ''), fact('vendor')
        ),
        distribution=fact('os'),
        disk_bus=fact('bus'),
        write_cache=fact('cache'),
        io_scheduler=fact('scheduler'),
        clock_source=_clean(event.fields.get('clock')),
    )


def cpu_use(
    ended: frames.Event, known: guest_system.GuestSystem | None
) -> guest_system.CpuUse | None:
    """Parse the use of a guest's CPUs in a slot.

    :param ended: the guest's event END of the slot
    :param known: the guest's system
    :returns: None if it was not reported, or is not plausible
    """
    ticks, busy, steal, since_boot = (
        ended.integer(key) for key in ('ticks', 'busy', 'steal', 'stolen')
    )
    if (
        ticks is None
        or busy is None
        or steal is None
        or since_boot is None
        or min(busy, steal) < 0
        or busy + steal > ticks
        or ticks <= 0
        or steal > since_boot
    ):
        return None
    # 0 since the boot is also what a kernel says that does not know.
    told = since_boot > 0 or (known is not None and known.tells_steal)
    return guest_system.CpuUse(
        busy_percent=round(100 * busy / ticks, 1),
        steal_percent=round(100 * steal / ticks, 1) if told else None,
    )
