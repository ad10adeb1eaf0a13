"""Gives each request its own client address, because some limits count by address."""

import random

import schemathesis


@schemathesis.hook
def before_call(context, case, kwargs):
    case.headers["X-Forwarded-For"] = ".".join(["10", *(str(random.randrange(1, 255)) for _ in range(3))])
