# SPDX-License-Identifier: Apache-2.0

"""Whether KVM really runs the lab's guest on this machine.

``/dev/kvm`` may be there and useless: under some nested or para-virtualised
hypervisors QEMU starts, and the guest dies or stands still in its first
seconds. So the guest image itself is booted, and its own message counts.
"""

import dataclasses
import os
import pathlib
import subprocess
import time
from typing import Literal

READY = b'cinder-tiers guest ready'
_KVM_ERROR = b'KVM internal error'
_POLL_SECONDS = 0.1


@dataclasses.dataclass(frozen=True, kw_only=True)
class Accelerator:
    """How guests are to be run.

    :param name: ``kvm``, or ``tcg``: emulation, Nova's virt_type "qemu".
    :param reason: what was seen, one line for the user.
    """

    name: Literal['kvm', 'tcg']
    reason: str


def probe(
    image: pathlib.Path,
    *,
    log_directory: pathlib.Path,
    timeout_seconds: float = 12,
    kvm_device: pathlib.Path = pathlib.Path('/dev/kvm'),
    qemu: str = 'qemu-system-x86_64',
) -> Accelerator:
    """Boot the guest image with KVM and see whether it gets ready.

    A machine without a working KVM is not an error: the answer is tcg.

    :param image: the raw guest image; it is not changed.
    :param log_directory: gets ``accelerator-serial.log`` (the guest's
        console) and ``accelerator-qemu.log`` (QEMU's own messages).
    :param timeout_seconds: time for the guest to get ready; with KVM it
        takes about two seconds.
    :param kvm_device: the device that QEMU uses.
    :param qemu: name or path of the program.
    :raises FileNotFoundError: there is no such image or program.
    """
    try:
        os.close(os.open(kvm_device, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        return Accelerator(
            name='tcg', reason=f'cannot open {kvm_device}: {error.strerror}'
        )
    # QEMU's own complaint would look like a failure of KVM.
    image.stat()
    serial = log_directory / 'accelerator-serial.log'
    messages = log_directory / 'accelerator-qemu.log'
    serial.unlink(missing_ok=True)
    with messages.open('wb') as output:
        process = subprocess.Popen(
            _argv(qemu, image, serial),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        return _watch(process, serial, messages, timeout_seconds)
    finally:
        process.kill()
        process.wait()


def _watch(
    process: subprocess.Popen[bytes],
    serial: pathlib.Path,
    messages: pathlib.Path,
    timeout_seconds: float,
) -> Accelerator:
    start = time.monotonic()
    while True:
        # In this order: what it printed before it ended is then not missed.
        status = process.poll()
        passed_seconds = time.monotonic() - start
        if serial.exists() and READY in serial.read_bytes():
            return Accelerator(
                name='kvm',
                reason=f'the guest was ready in {passed_seconds:.1f} s',
            )
        output = messages.read_bytes()
        if _KVM_ERROR in output:
            problem = 'QEMU reported an error'
        elif status is not None:
            problem = f'QEMU ended with status {status}'
        elif passed_seconds >= timeout_seconds:
            problem = f'the guest was not ready in {timeout_seconds:g} s'
        else:
            time.sleep(_POLL_SECONDS)
            continue
        return Accelerator(
            name='tcg',
            reason=f'with KVM, {problem}: {_main_message(output)} '
            f'(see {messages} and {serial})',
        )


def _main_message(output: bytes) -> str:
    """Pick the line of QEMU's messages that says most."""
    lines = output.decode(errors='replace').splitlines()
    for line in lines:
        if _KVM_ERROR.decode() in line:
            return line
    return lines[-1] if lines else 'QEMU printed nothing'


def _argv(qemu: str, image: pathlib.Path, serial: pathlib.Path) -> list[str]:
    return [
        qemu,
        '-accel',
        'kvm',
        '-m',
        '128',
        '-drive',
        f'file={_quoted(image)},format=raw,if=virtio,snapshot=on',
        '-nic',
        'none',
        '-display',
        'none',
        '-monitor',
        'none',
        '-chardev',
        f'file,id=serial,path={_quoted(serial)}',
        '-serial',
        'chardev:serial',
        '-no-reboot',
    ]


def _quoted(path: pathlib.Path) -> str:
    # QEMU's option syntax: a comma in a value is doubled.
    return str(path).replace(',', ',,')
