# SPDX-License-Identifier: Apache-2.0

"""Content of RBD images: to be told apart, and compared after a move."""

import hashlib
import os

OBJECT = 2**22
#: Written from the begin of an image to its end.
BLOCK, BLOCKS = 2**18, 8


def write(image):
    """Write what no other image has.

    :param image: an open rbd.Image.
    """
    apart = (image.size() - BLOCK) // (BLOCKS - 1)
    for place in range(BLOCKS):
        image.write(os.urandom(BLOCK), place * apart)


def sums(image):
    """Sums of an image, and of its snapshots, also where it is a clone.

    Objects of zeros count as none: a copy may lack them.

    :param image: an rbd.Image, open for reading.
    :returns: {name of a snapshot, None for the image: its SHA-256}
    """
    found = {}
    for name in (None, *(one['name'] for one in image.list_snaps())):
        image.set_snap(name)
        used = set()

        def note(begin, size, _, used=used):
            last = (begin + size - 1) // OBJECT
            used.update(range(begin // OBJECT, last + 1))

        image.diff_iterate(0, image.size(), None, note)
        total = hashlib.sha256(image.size().to_bytes(8, 'big'))
        for number in sorted(used):
            begin = number * OBJECT
            data = image.read(begin, min(OBJECT, image.size() - begin))
            if data.strip(b'\0'):
                total.update(begin.to_bytes(8, 'big') + data)
        found[name] = total.hexdigest()
    return found
