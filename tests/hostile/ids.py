"""Ids that try to be more than one segment of a path, or another request."""

from __future__ import annotations

# What is sent: always one segment, which the service reads back as the very id.
QUOTED = {
    "up": "../admin",
    "up-inside": "a/../../b",
    "up-quoted": "..%2fadmin",
    "up-quoted-twice": "%252e%252e%252f",
    "absolute": "/v1/auth/login",
    "other-host": "//evil.example/x",
    "other-scheme": "https://evil.example/",
    "backslash": "..\\admin",
    "query": "a?status=completed",
    "fragment": "a#b",
    "parameter": "a;b=c",
    "plus-and-blank": "a+b c",
    "nul": "a\0b",
    "line-break": "a\r\nX-Evil: 1\r\n\r\nGET /admin HTTP/1.1",
    "percent-alone": "100%",
    "unicode": "é\u202e\U0001f4b8",
    "template": "{id}",
    "long": "x" * 500,
    "long-when-quoted": "\U0001f4b8" * 500,
}

# What cannot be one segment, or is none of the service's: nothing is sent.
REFUSED = {
    "empty": "",
    "dot": ".",
    "dots": "..",
    "too-long": "x" * 501,
    "much-too-long": "/" * 1_000_000,
    "half-a-surrogate-pair": "a\ud800b",
}
