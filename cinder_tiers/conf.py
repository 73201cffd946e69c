# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Options of the doors, in the group [cinder_tiers] of cinder.conf.

Must not know a global configuration: who needs the options passes the
configuration in.
"""

from oslo_config import cfg

GROUP = 'cinder_tiers'

OPTIONS = (
    cfg.StrOpt(
        'on_error', default='fallback',
        choices=(
            ('fallback', 'The fall-back tier serves the volume. While not '
                         'even the tiers can be read, Cinder alone places '
                         'it.'),
            ('pass', 'Cinder alone places the volume: on any backend that '
                     'its type allows, which for a type that follows the '
                     'image is every backend.'),
            ('fail', 'The create fails: no volume is ever on a wrong tier, '
                     'but none is created while Glance is down.')),
        help='What becomes of the create of a volume whose tier cannot be '
             'told, because Glance does not answer, the image cannot be read '
             'or an error of this filter. Requests whose type does not '
             'follow the image are never affected. Start with the default; '
             'fallback and pass keep Cinder as available as it is without '
             'tiers.'),
    cfg.FloatOpt(
        'glance_timeout', default=5.0, min=0.1, max=600.0,
        help='Seconds that a create waits at most for the image\'s tags, all '
             'retries included. A longer time rides out a slow Glance, but '
             'each create of a volume from an image waits that long while '
             'Glance hangs. An answer takes 15 to 40 ms from a warm Glance '
             'and up to 2 s from a cold one.'),
    cfg.IntOpt(
        'glance_max_calls', default=16, min=1,
        help='Calls to Glance that one cinder-scheduler process has under '
             'way at most, abandoned ones included. Further creates do not '
             'wait: on_error applies at once. This bounds the threads that '
             'a hanging Glance can hold. More than the number of creates '
             'that are scheduled at one time is of no use.'),
)


def register(conf: cfg.ConfigOpts) -> cfg.ConfigOpts.GroupAttr:
    """Make the options known to a configuration.

    :param conf: the configuration of the process; registering twice is
        harmless.
    :returns: the group, whose attributes are the values.
    """
    conf.register_opts(OPTIONS, group=GROUP)
    return conf[GROUP]


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Options for oslo-config-generator (entry point oslo.config.opts).

    :returns: pairs of a group's name and its options.
    """
    return [(GROUP, list(OPTIONS))]
