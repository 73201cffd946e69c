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
        (
            'The fallback tier serves the volume. An image that could not be '
            'read may name a volume type or have an encryption key; the API '
            'middleware leaves such a request to Cinder. The scheduler '
            'filter then puts the volume on the backends of the fallback '
            'tier, with the type that Cinder gave it.'
        ),
    ),
    (
        'pass',
        (
            'Cinder places the volume on any backend that its type allows. '
            'For a type that follows the image, that is every backend except '
            'those that serve only private tiers to which the project has no '
            'access.'
        ),
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
                (
                    'Images that the project owns, and public images, which '
                    'by default only administrators can publish.'
                ),
            ),
            (
                'all',
                (
                    'Also shared and community images of other projects: '
                    'their owners can then move new volumes of other '
                    'projects between tiers by retagging.'
                ),
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
                'The tag is ignored, and the decision record says so.',
            ),
            (
                'refuse',
                (
                    'The create is refused: the API middleware answers 403; '
                    'the scheduler filter leaves the volume in status error.'
                ),
            ),
        ),
        help=(
            'What happens to a create whose image selects, with the highest '
            'priority, a tier with a private volume type to which the '
            'project has no access.'
        ),
    ),
    cfg.StrOpt(
        'metadata_key',
        max_length=255,
        help=(
            'Key of the metadata of a volume whose value counts like a tag '
            'of an image: "openstack volume create --property KEY=TAG", or '
            'appendVolumeMetadata of a Kubernetes storage class. It counts '
            'for a volume that is not made from an image, when the volume '
            'is created, and when it is retyped or migrated with a type '
            'that follows the image. Entitlement holds as for tags. Unset: '
            'metadata do not count.'
        ),
    ),
    cfg.BoolOpt(
        'metadata_with_image',
        default=False,
        help=(
            'Whether metadata_key counts as well for a volume that is made '
            'from an image. Tags of the image come first.'
        ),
    ),
    cfg.StrOpt(
        'project_type',
        default=decision.ProjectType.FIRST.value,
        choices=(
            (
                'first',
                (
                    'It counts before the tags of the image, as in Cinder: '
                    'volumes of the project never go by tags.'
                ),
            ),
            (
                'last',
                (
                    'Tags of the image and metadata come first. It takes the '
                    'place of the fallback tier for the project.'
                ),
            ),
        ),
        help=(
            'When the default volume type of a project ("cinder '
            'default-type-set", or default_for in the tiers file) counts, '
            'if it does not follow the image. Used by the API middleware '
            'only: without it, "first" applies.'
        ),
    ),
    cfg.StrOpt(
        'on_error',
        default=decision.OnError.FALLBACK.value,
        choices=_ON_ERROR,
        help=(
            'What happens to a create whose tier cannot be determined, '
            'because Glance does not respond, the image cannot be read, or '
            'cinder-tiers itself fails. Requests whose type does not follow '
            'the image are never affected. Start with the default; fallback '
            'and pass keep Cinder as available as it is without tiers, with '
            'one exception: until the scheduler filter has read the applied '
            'tiers once, it refuses volumes whose type follows the image, '
            'because it cannot distinguish the backends of private tiers '
            'from others. An existing volume that is retyped or migrated is '
            'left to Cinder, except with fail.'
        ),
    ),
    cfg.StrOpt(
        'api_on_error',
        choices=_ON_ERROR,
        help=(
            'on_error for the API middleware; unset: on_error. With pass, '
            'the scheduler filter tries again.'
        ),
    ),
    cfg.StrOpt(
        'scheduler_on_error',
        choices=_ON_ERROR,
        help='on_error for the scheduler filter; unset: on_error.',
    ),
    cfg.StrOpt(
        'on_retype',
        default='tier',
        choices=(
            (
                'tier',
                (
                    'The volume gets the volume type of its tier, chosen as '
                    'for a new volume from its image. If no tier can be '
                    'chosen, the retype is refused.'
                ),
            ),
            ('refuse', 'The API middleware refuses the retype with 403.'),
        ),
        help=(
            'What happens when a member retypes a volume to a volume type '
            'that follows the image. With such a type the volume would stay '
            'where it is, without the QoS and the quota of its tier. For '
            'administrators "tier" applies, and if no tier can be chosen the '
            'retype is left to Cinder. Used by the API middleware only.'
        ),
    ),
    cfg.FloatOpt(
        'tier_weight_multiplier',
        default=1000000.0,
        min=0.0,
        help=(
            "Weight of a tier's own backends over those of its overflow "
            'tier. It must exceed the sum of all other weighers; with a '
            'smaller value, the backends compete.'
        ),
    ),
)

_GLANCE = (
    cfg.FloatOpt(
        'glance_timeout',
        default=5.0,
        min=0.1,
        max=600.0,
        help=(
            'Maximum time in seconds that a request waits for the tags of '
            'its image, once in the API middleware and once in the scheduler '
            'filter: until a call to Glance is free, and for the answer, '
            'including all retries. A longer time tolerates a slow Glance '
            'and many images that are not cached, but each create of a '
            'volume from an image waits that long while Glance hangs, until '
            'the circuit breaker opens. An answer that takes longer counts '
            'as a failure. Start with the default: an answer takes 15 to 40 '
            'ms from a warm Glance and up to 2 s from a cold one.'
        ),
    ),
    cfg.IntOpt(
        'glance_max_calls',
        default=16,
        min=1,
        help=(
            'Maximum number of concurrent calls to Glance in one process, '
            'including abandoned calls. Further creates wait for a free call '
            'within glance_timeout; the next free call goes to the project '
            'with the fewest, and one project has at most half of the calls. '
            'Searches for an image by its name have at most half of the '
            'calls, and those of one project a quarter; with 1, a call that '
            'hangs holds up all projects. This limits the threads that a '
            'hanging Glance can hold: a larger number serves more uncached '
            'images at once, and burdens Glance more. Requests of a project '
            'for one image share a call. Start with the default, which '
            'serves 400 images per second at 40 ms each.'
        ),
    ),
    cfg.IntOpt(
        'glance_failures',
        default=3,
        min=1,
        help=(
            'Consecutive failed calls to Glance of one project, by an answer '
            'later than glance_timeout, a lost connection or a status of 500 '
            'and more, or for want of a free call while other projects have '
            'all, before the circuit breaker opens for that project: then '
            'on_error applies at once, without a call, unless '
            'image_stale_seconds provides an answer. Failures to find an '
            'image by name count apart from those by ID. A refusal (400, '
            '401, 403, 404) is not a failure. A small number avoids waiting, '
            'a large one tolerates short faults. Start with the default.'
        ),
    ),
    cfg.FloatOpt(
        'glance_retry_seconds',
        default=10.0,
        min=0.1,
        help=(
            'Seconds between two attempts of a project to reach Glance while '
            'the circuit breaker is open for it. The create that tries may '
            'wait for glance_timeout; once Glance is back, the project uses '
            'it again after as much delay. Start with the default.'
        ),
    ),
)

_CACHES = (
    cfg.FloatOpt(
        'image_cache_seconds',
        default=10.0,
        min=0.0,
        help=(
            'Seconds for which the tags of an image are cached. A new tag '
            'takes effect after that time at the latest. 0 queries Glance '
            'for every create.'
        ),
    ),
    cfg.FloatOpt(
        'image_stale_seconds',
        default=3600.0,
        min=0.0,
        help=(
            'Seconds for which the last known tags of an image are kept for '
            'use if Glance does not answer in time, fails, or is not queried '
            'because the circuit breaker is open: they are then used instead '
            'of on_error. They are never used after Glance refused the image '
            '(403, 404), and only for an image that is named by its ID. A '
            'longer time tolerates a longer outage of Glance, but meanwhile '
            'places volumes by older tags. 0 disables this. Start with the '
            'default.'
        ),
    ),
    cfg.IntOpt(
        'image_cache_size',
        default=10000,
        min=1,
        help=(
            'Maximum number of images that one process caches, about 1 KiB '
            'each; an image with so many or so long tags that it takes more '
            'counts as several. The least recently used image is dropped '
            'first. Read when a process starts.'
        ),
    ),
    cfg.FloatOpt(
        'applied_cache_seconds',
        default=5.0,
        min=0.0,
        help=(
            'Seconds for which the applied tiers, read from the Cinder '
            'database, and the default volume type of a project are cached. '
            'The tiers are read again in the background. A change by '
            '"openstack tier apply" takes effect after that time at the '
            'latest, or a second later while the database is slow. Revoked '
            'access to a private tier takes effect at once. While the '
            'database does not respond, the cached tiers stay in use. With 0 '
            'each request reads them.'
        ),
    ),
    cfg.FloatOpt(
        'zones_cache_seconds',
        default=60.0,
        min=1.0,
        help='Seconds between two reads of the availability zones of the '
        "tiers' backends, while volumes are created. A new backend in a zone "
        'is used after that time at the latest; one that is down or disabled '
        'still counts for another 10 minutes. A thread asks cinder-scheduler '
        'for the pools, as "cinder get-pools" does. Only the first request '
        'after a quiet time waits for it, for at most one second. Nothing is '
        'read while all volume services are in one zone.',
    ),
    cfg.BoolOpt(
        'notify',
        default=True,
        help=(
            'Whether to send each decision as a notification '
            '"tiers.decision", if Cinder\'s notifications are enabled '
            '([oslo_messaging_notifications] driver). Notifications are sent '
            'in the background, and dropped if the message bus is too slow.'
        ),
    ),
)

_METRICS = (
    cfg.StrOpt(
        'metrics_directory',
        help=(
            'Directory in which each process of cinder-api and '
            'cinder-scheduler writes its metrics, as a file '
            'cinder-tiers-api-PID.prom or cinder-tiers-scheduler-PID.prom '
            'for the textfile collector of node_exporter. Unset: no metrics. '
            "Cinder's user, and no other user except root, must be able to "
            'write to it. Requires the Python package prometheus_client. '
            'Read when a process starts.'
        ),
    ),
    cfg.FloatOpt(
        'metrics_interval_seconds',
        default=15.0,
        min=1.0,
        max=3600.0,
        help=(
            'Seconds between two writes of the metrics, which happen in the '
            'background and only if a metric has changed. Read when a '
            'process starts.'
        ),
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
    """Return the operator's choices as the policy for `decide()`.

    :param options: the result of `register`.
    """
    return decision.Policy(
        tag_trust=decision.TagTrust(options.trust_tags_of),
        on_no_access=decision.OnNoAccess(options.on_no_access),
        metadata_key=options.metadata_key or None,
        metadata_with_image=options.metadata_with_image,
        project_type=decision.ProjectType(options.project_type),
    )


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Options for oslo-config-generator (entry point oslo.config.opts).

    :returns: pairs of a group's name and its options.
    """
    return [(GROUP, list(OPTIONS))]
