# SPDX-License-Identifier: Apache-2.0

"""Options of tempest.conf: what the tests cannot find out themselves."""

from oslo_config import cfg

GROUP = cfg.OptGroup(name='cinder_tiers', title='Tests of cinder-tiers')

OPTIONS = (
    cfg.BoolOpt(
        'admin',
        default=True,
        help='Use admin credentials: tiers are read from the extra specs of '
        'the volume types, hosts of volumes are compared with the backends '
        'of their tier, and a private tier is made if private_type is not '
        'set. With False, the tests need tag, tier_type, fallback_type and '
        'following_type, compare volume types only, and those of quota, QoS '
        'and groups are skipped.',
    ),
    cfg.StrOpt(
        'tag',
        help='Image tag that asks for tier_type. Unset: one of the first '
        'public tier that has tags and is not the fallback.',
    ),
    cfg.StrOpt('tier_type', help='Name of the volume type of that tier.'),
    cfg.StrOpt(
        'fallback_type', help='Name of the volume type of the fallback tier.'
    ),
    cfg.StrOpt(
        'following_type',
        help='Name of a volume type that follows the image, such as the '
        'default type.',
    ),
    cfg.StrOpt(
        'private_tag', help='Image tag that asks for the tier private_type.'
    ),
    cfg.StrOpt(
        'private_type',
        help='Name of the volume type of a private tier that the projects of '
        'the tests have no access to. Unset: with admin one is made, and '
        'without it these tests are skipped.',
    ),
    cfg.FloatOpt(
        'image_cache_seconds',
        default=10.0,
        min=0.0,
        help='At least the option of this name in [cinder_tiers] of '
        'cinder.conf: for so long a door may use the old tags of an image.',
    ),
    cfg.FloatOpt(
        'applied_cache_seconds',
        default=6.0,
        min=0.0,
        help='At least one second more than the option of this name in '
        '[cinder_tiers] of cinder.conf: for so long a door may not know a '
        'new volume type.',
    ),
)
