# SPDX-License-Identifier: Apache-2.0

"""The member's pages: tiers, what there is of each, and tags of images."""

import typing

from django import forms
from django import http
from django import urls
from horizon import messages
from horizon import views
import openstack.connection
from openstack_dashboard import policy

from cinder_tiers.domain.explain import visible_cloud as facts
from cinder_tiers.domain import tags as image_tags
from cinder_tiers.domain import text
from cinder_tiers.horizon import problems
from cinder_tiers.horizon.project import cloud
from cinder_tiers.horizon.project import offers
from cinder_tiers.horizon import session
from cinder_tiers.observe.cinder import project_quota
from cinder_tiers.observe import visible_cloud

_INDEX = 'horizon:project:storage_tiers:index'


class IndexView(views.HorizonTemplateView):
    """The tiers, the volumes on each, and the images with their tags."""

    template_name = 'project/storage_tiers/index.html'
    page_title = 'Storage Tiers'

    def get_context_data(self, **kwargs: object) -> dict[str, object]:
        """Return the context of the template, with the problems met."""
        context = super().get_context_data(**kwargs)
        told: list[str] = []
        context['problems'] = told
        with (
            problems.told(told),
            session.connect(self.request) as connection,
        ):
            known = visible_cloud.observe_types(connection)
            context['tiers_are_hidden'] = facts.EXTRA_SPECS in known.hidden
            context |= _tiers(connection, known, told)
            context |= _images(self.request, connection, known, told)
        return context


def _tiers(
    connection: openstack.connection.Connection,
    known: facts.VisibleCloud,
    told: list[str],
) -> dict[str, object]:
    found = offers.offers(known)
    project: project_quota.Quota | None = None
    of_types: dict[str, project_quota.Quota] = {}
    with problems.told(told):
        project, of_types = project_quota.read(
            connection, known.project, [one.name for one in known.types]
        )
    return {
        'cards': found,
        'shares': [
            offers.share(offer, project, of_types)
            for offer in found
            if project and offer.volume_type in of_types
        ],
        'quota': project,
    }


def _images(
    request: http.HttpRequest,
    connection: openstack.connection.Connection,
    known: facts.VisibleCloud,
    told: list[str],
) -> dict[str, object]:
    tags: frozenset[str] | None = None
    images: list[facts.KnownImage] = []
    with problems.told(told):
        tags = cloud.tier_tags(connection, known)
    with problems.told(told):
        images = cloud.own_images(connection, known.project)
    return {
        'tags': None if tags is None else text.clipped_list(sorted(tags)),
        'images': [offers.tagged(one, tags or ()) for one in images],
        'most_images': (
            cloud.MOST_IMAGES if len(images) == cloud.MOST_IMAGES else None
        ),
        'may_tag': bool(tags) and _may_tag(request),
    }


def _may_tag(request: http.HttpRequest) -> bool:
    """Return whether the user may change images of the own project."""
    return policy.check(
        (('image', 'modify_image'),),
        request,
        {'project_id': request.user.project_id},
    )


class TagForm(forms.Form):
    """Choice of the tier tags of an image."""

    tags = forms.MultipleChoiceField(
        required=False,
        label='Tags of tiers',
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(
        self, *args: object, choices: frozenset[str], **kwargs: object
    ) -> None:
        super().__init__(*args, **kwargs)
        self.fields['tags'].choices = [
            (tag, text.printable(tag)) for tag in sorted(choices)
        ]


class TagView(views.HorizonFormView):
    """The form that tags an image of the own project."""

    template_name = 'project/storage_tiers/tag.html'
    page_title = 'Tag Image'
    form_class = TagForm
    success_url = urls.reverse_lazy(_INDEX)

    def dispatch(
        self, request: http.HttpRequest, *args: object, **kwargs: object
    ) -> http.HttpResponseBase:
        """Reads the image and the choices before either kind of request.

        :raises http.Http404: there is no such image of the project.
        """
        self.problems: list[str] = []
        self.choices: frozenset[str] = frozenset()
        self.image: facts.KnownImage | None = None
        with session.connect(request) as self.connection:
            self._read(request, str(kwargs['image_id']))
            return super().dispatch(request, *args, **kwargs)

    def _read(self, request: http.HttpRequest, image_id: str) -> None:
        with problems.told(self.problems):
            self.image = visible_cloud.read_image(self.connection, image_id)
            if (
                self.image is None
                or self.image.image.owner != request.user.project_id
            ):
                raise http.Http404('no such image of the project')
            self.choices = (
                cloud.tier_tags(
                    self.connection,
                    visible_cloud.observe_types(self.connection),
                )
                or frozenset()
            )

    def get_form_kwargs(self) -> dict[str, typing.Any]:
        """Adds the choices."""
        return super().get_form_kwargs() | {'choices': self.choices}

    def get_initial(self) -> dict[str, list[str]]:
        """The tags of tiers that the image has."""
        present = self.image.image.tags if self.image else ()
        return {'tags': [*map(image_tags.normalize_tag, present)]}

    def get_context_data(self, **kwargs: object) -> dict[str, object]:
        """Return the context of the template."""
        return super().get_context_data(**kwargs) | {
            'problems': self.problems,
            'image_name': self._name(),
            'has_choices': bool(self.choices),
            'shown': sorted(
                self.choices.intersection(self.get_initial()['tags'])
            ),
        }

    def form_valid(self, form: TagForm) -> http.HttpResponseBase:
        """Writes the tags; what Glance refuses is told in the form."""
        image = self.image
        if image is not None and self.choices:
            wanted = offers.retagged(
                image.image.tags,
                self.choices.intersection(self.request.POST.getlist('shown')),
                form.cleaned_data['tags'],
            )
            with problems.told(self.problems):
                cloud.write_tags(self.connection, image.image_id, wanted)
        if self.problems or not self.choices:
            return self.form_invalid(form)
        messages.success(self.request, f'Tagged image {self._name()}.')
        return super().form_valid(form)

    def _name(self) -> str:
        if self.image is None:
            return ''
        return text.clipped(
            text.printable(self.image.name or self.image.image_id)
        )
