# SPDX-License-Identifier: Apache-2.0

"""Options of the doors, in the group [cinder_tiers] of cinder.conf.

Must not know a global configuration: who needs the options passes the
configuration in.
"""

from oslo_config import cfg

from cinder_tiers.domain.placement import decision

GROUP = 'cinder_tiers'

_ON_ERROR = (
    (
        'fallback',
        'The fallback tier serves the volume. At the API door, a '
        'volume whose image could not be read, and so may name a '
        'volume type or bring an encryption key, is left to Cinder; '
        'the scheduler door then puts it on the backends of the '
        'fallback tier, with the type that Cinder gave it.',
    ),
    (
        'pass',
        'Cinder places the volume: on any backend that its type '
        'allows, which for a type that follows the image is every '
        'backend but those that serve only private tiers to which the '
        'project has no access.',
    ),
    (
        'fail',
        'The create fails: no volume is ever on a wrong tier, but none '
        'is created while Glance is down.',
    ),
)

_DECISIONS = (
    cfg.StrOpt(
        'trust_tags_of',
        default=decision.TagTrust.OWN_AND_PUBLIC.value,
        choices=(
            ('own', 'Images that the project owns.'),
            (
                'own_and_public',
                'These and public images, which by default '
                'only administrators can publish.',
            ),
            (
                'all',
                'Shared and community images of other projects, too: '
                'their owners can then move the new volumes of others '
                'between tiers by retagging.',
            ),
        ),
        help='Images whose tags count. An image whose tags do not count '
        'is treated as untagged.',
    ),
    cfg.StrOpt(
        'on_no_access',
        default=decision.OnNoAccess.FALLBACK.value,
        choices=(
            (
                'fallback',
                'The tag counts as if it were not there, and the '
                'record of the decision says so.',
            ),
            (
                'refuse',
                'The create is refused: with 403 at the API door, '
                'with a volume in status error at the scheduler '
                'door.',
            ),
        ),
        help='What becomes of a create whose image asks first of all for a '
        'tier with a private volume type to which the project has no '
        'access.',
    ),
    cfg.StrOpt(
        'on_error',
        default=decision.OnError.FALLBACK.value,
        choices=_ON_ERROR,
        help='What becomes of the create of a volume whose tier cannot be '
        'told, because Glance does not answer, the image cannot be read '
        'or an error of this plug-in. Requests whose type does not '
        'follow the image are never affected. Start with the default; '
        'fallback and pass keep Cinder as available as it is without '
        'tiers, with one exception: while the scheduler door has never '
        'read the applied tiers, it refuses volumes whose type follows '
        'the image, since it cannot tell the backends of private tiers '
        'from others. A volume that exists and is retyped or migrated is '
        'left to Cinder, but for fail.',
    ),
    cfg.StrOpt(
        'api_on_error',
        choices=_ON_ERROR,
        help='on_error of the API door; unset: on_error. With pass, the '
        'scheduler door tries again.',
    ),
    cfg.StrOpt(
        'scheduler_on_error',
        choices=_ON_ERROR,
        help='on_error of the scheduler door; unset: on_error.',
    ),
    cfg.StrOpt(
        'on_retype',
        default='tier',
        choices=(
            (
                'tier',
                'The volume gets the volume type of its tier, chosen as '
                'for a new volume of its image. When no tier can be '
                'chosen, the retype is refused.',
            ),
            ('refuse', 'The retype is refused with 403.'),
        ),
        help="What becomes of a member's retype to a volume type that "
        'follows the image. With such a type the volume would stay '
        'where it is, without the QoS and the quota of its tier. For '
        'administrators "tier" applies, and what no tier can be chosen '
        'for is left to Cinder. At the API door only.',
    ),
    cfg.FloatOpt(
        'tier_weight_multiplier',
        default=1000000.0,
        min=0.0,
        help='Weight of the own backends of a tier over those of the tier to '
        'which it overflows. It must exceed the sum of all other '
        'weighers; with a small value, their backends compete.',
    ),
)

_GLANCE = (
    cfg.FloatOpt(
        'glance_timeout',
        default=5.0,
        min=0.1,
        max=600.0,
        help="Seconds that a request waits at most for the image's tags at "
        'one door: until a call to Glance is free, and for the answer, '
        'all retries included. A longer time rides out a slow Glance '
        'and many cold images at once, but each create of a volume from '
        'an image waits that long while Glance hangs, until the circuit '
        'breaker opens. An answer that takes longer counts as a '
        'failure. Start with the default: an answer takes 15 to 40 ms '
        'from a warm Glance and up to 2 s from a cold one.',
    ),
    cfg.IntOpt(
        'glance_max_calls',
        default=16,
        min=1,
        help='Calls to Glance that one process has under way at most, '
        'abandoned ones included. Further creates wait for a free call '
        'within glance_timeout; the queue serves one project after the '
        'other, and one project has at most half of the calls. This '
        'bounds the threads that a hanging Glance can hold: more serve '
        'more cold images at once, and burden Glance more. Requests for '
        'one image share a call. Start with the default, which serves '
        '400 images per second at 40 ms each.',
    ),
    cfg.IntOpt(
        'glance_failures',
        default=3,
        min=1,
        help='Calls in a row that Glance fails, by an answer later than '
        'glance_timeout, a lost connection or a status of 500 and more, '
        'before the circuit breaker opens: then on_error applies at '
        'once, without a call, unless image_stale_seconds has an '
        'answer. It opens for a project by failures of that project, '
        'and for all when the failures in a row are those of two '
        'projects or more; failures to find an image by name count for '
        'the project only. A refusal (400, 401, 403, 404) is no '
        'failure. A small number saves waiting, a large one rides out '
        'short faults. Start with the default.',
    ),
    cfg.FloatOpt(
        'glance_retry_seconds',
        default=10.0,
        min=0.1,
        help='Seconds between two attempts to reach Glance while the circuit '
        'breaker is open. The create that tries may wait for '
        'glance_timeout; all others are served late by as much once '
        'Glance is back. Start with the default.',
    ),
)

_CACHES = (
    cfg.FloatOpt(
        'image_cache_seconds',
        default=10.0,
        min=0.0,
        help='Seconds for which the tags of an image are remembered. A new '
        'tag counts after that time at the latest. 0 asks Glance for '
        'every create.',
    ),
    cfg.FloatOpt(
        'image_stale_seconds',
        default=3600.0,
        min=0.0,
        help='Seconds for which the last known tags of an image are kept for '
        'the case that Glance does not answer in time, fails or is not '
        'asked because the circuit breaker is open: then they serve '
        'instead of on_error. Never after Glance refused the image (403, '
        '404), and only for an image that is named by its id. A longer '
        'time rides out a longer outage of Glance, but places volumes '
        'by older tags meanwhile. 0 switches it off. Start with the '
        'default.',
    ),
    cfg.IntOpt(
        'image_cache_size',
        default=10000,
        min=1,
        help='Images that one process remembers at most, about 1 KiB each; '
        'the one that was used the longest ago is forgotten first. Read '
        'when a process starts.',
    ),
    cfg.FloatOpt(
        'applied_cache_seconds',
        default=5.0,
        min=0.0,
        help="Seconds for which the applied tiers, read from Cinder's "
        'database, and the default volume type of a project are '
        'remembered. The tiers are read anew in the background, and '
        'a change by "openstack tier apply" counts after that time at '
        'the latest, or a second later while the database is slow. A '
        'revoked access to a private tier counts at once. While the '
        'database does not answer, what is remembered serves on. With 0 '
        'each request reads them.',
    ),
    cfg.FloatOpt(
        'zones_cache_seconds',
        default=60.0,
        min=1.0,
        help='Seconds between two looks at which tiers have backends in '
        'which availability zones, while volumes are created. A new '
        'backend in a zone counts after that time at the latest, one '
        'that is down or disabled for 10 minutes more. A thread asks '
        'cinder-scheduler for the pools, as "cinder get-pools" does; '
        'no request waits for it but the first after a quiet time, for '
        'a second at most. Nothing is asked while all volume services '
        'are in one zone.',
    ),
    cfg.BoolOpt(
        'notify',
        default=True,
        help='Whether each decision is sent as a notification '
        '"tiers.decision", if notifications of Cinder are on '
        '([oslo_messaging_notifications] driver). It is sent in the '
        'background, and dropped when the message bus is too slow.',
    ),
)

_METRICS = (
    cfg.StrOpt(
        'metrics_directory',
        help='Directory into which each process of cinder-api and '
        'cinder-scheduler writes its metrics, as a file '
        'cinder-tiers-DOOR-PID.prom for the textfile collector of '
        "node_exporter. Unset: no metrics. Cinder's user must be able "
        'to write to it, and no other user but root should. It needs '
        'the Python package prometheus_client. Read when a process '
        'starts.',
    ),
    cfg.FloatOpt(
        'metrics_interval_seconds',
        default=15.0,
        min=1.0,
        max=3600.0,
        help='Seconds between two writings of the metrics, which are done in '
        'the background and only when a metric has changed. Read when a '
        'process starts.',
    ),
)

OPTIONS = _DECISIONS + _GLANCE + _CACHES + _METRICS


def register(conf: cfg.ConfigOpts) -> cfg.ConfigOpts.GroupAttr:
    """Make the options known to a configuration.

    :param conf: the configuration of the process; registering twice is
        harmless.
    :returns: the group, whose attributes are the values.
    """
    conf.register_opts(OPTIONS, group=GROUP)
    return conf[GROUP]


def policy_of(options: cfg.ConfigOpts.GroupAttr) -> decision.Policy:
    """The operator's choices, as `decide()` takes them.

    :param options: what `register` returned.
    """
    return decision.Policy(
        tag_trust=decision.TagTrust(options.trust_tags_of),
        on_no_access=decision.OnNoAccess(options.on_no_access),
    )


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Options for oslo-config-generator (entry point oslo.config.opts).

    :returns: pairs of a group's name and its options.
    """
    return [(GROUP, list(OPTIONS))]
