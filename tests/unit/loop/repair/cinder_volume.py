# SPDX-License-Identifier: Apache-2.0

"""A stand-in for cinder-volume beside a real Cinder API.

It ends each retype and each migration after a moment, as the driver would.
"""

import threading

from tests.unit.execute.cinder import test_volume_type

_POLL_S = 0.2


class CinderVolume:
    """Works in a thread until `stop`.

    :param api: the `CinderApi` whose volumes it works on.
    :param ends: {id of a volume: fields that it gets when Cinder works on it}
    """

    def __init__(self, api, ends):
        self._api = api
        self._ends = ends
        self._stop = threading.Event()
        #: Ids of the volumes that it worked on, in order.
        self.ended = []
        self._connection = test_volume_type.connect(api)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self):
        self._stop.set()
        self._thread.join()
        self._connection.close()

    def _run(self):
        while not self._stop.wait(_POLL_S):
            for one in self._connection.block_storage.volumes(
                all_projects=True
            ):
                if one.id in self._ends and (
                    one.status == 'retyping'
                    or one.migration_status == 'starting'
                ):
                    self.ended.append(one.id)
                    self._api.change_volume(
                        one.id,
                        **{
                            'status': 'available',
                            'migration_status': 'success',
                            **self._ends[one.id],
                        },
                    )
