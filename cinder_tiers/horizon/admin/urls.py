# SPDX-License-Identifier: Apache-2.0

"""Addresses of the administrator's page."""

from django import urls

from cinder_tiers.horizon.admin import views

urlpatterns = [urls.path('', views.IndexView.as_view(), name='index')]
