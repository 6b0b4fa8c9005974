"""Every JSON object of the REST API, as it comes and goes, by what it is about; OpenAPI is made from these classes.

`of` makes what is shown of what is stored. `msgspec.Raw` members are slices of the text that came or was stored:
specs and statuses pass verbatim.
"""
