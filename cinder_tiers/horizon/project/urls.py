# SPDX-License-Identifier: Apache-2.0

"""Addresses of the member's pages."""

from django import urls

from cinder_tiers.horizon.project import views

urlpatterns = [
    urls.path('', views.IndexView.as_view(), name='index'),
    # Glance takes ids with capitals, too, which <uuid:...> does not.
    urls.re_path(
        r'^images/(?P<image_id>[0-9A-Fa-f-]{36})/tags/$',
        views.TagView.as_view(),
        name='tag',
    ),
]
