"""What a request asks for and its route doesn't have is refused: nobody is to believe that it was minded.

`dryRun=true` where nothing can be tried dry would be done; `If-Match` where no tag is compared would overwrite.
"""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import Request
from fastapi.routing import APIRoute

from stdworker.engine.api.guard import SAFE_METHODS
from stdworker.errors import Invalid

CONDITIONS = ("If-Match", "If-None-Match")


async def only_known(request: Request) -> None:
    """A dependency of every route. Raises Invalid.

    Routes with parameters refuse others by their models. NUL is in no name, and databases differ in what it finds.
    """
    route: APIRoute = request.scope["route"]
    if not route.dependant.query_params:
        for name in request.query_params:
            raise Invalid.at(f"query/{name}", "this route has no such parameter", code="bad_parameter")
    for place, text in _texts(request):
        if "\0" in text:
            raise Invalid.at(place, "the character NUL is in no name and no label", code="nul")
    if request.method not in SAFE_METHODS:
        minded = {parameter.alias.lower() for parameter in route.dependant.header_params}
        for name in CONDITIONS:
            if name in request.headers and name.lower() not in minded:
                raise Invalid.at(f"header/{name}", "this route doesn't mind it", code="bad_precondition")


def _texts(request: Request) -> Iterator[tuple[str, str]]:
    for name, value in request.path_params.items():
        yield f"path/{name}", str(value)
    for name, value in request.query_params.multi_items():
        yield f"query/{name}", value
