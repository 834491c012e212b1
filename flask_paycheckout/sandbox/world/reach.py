"""The limits of where a sandbox may send webhooks."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address


@dataclass(frozen=True)
class Reach:
    """The machines that a sandbox may send webhooks to."""

    own_machine: bool
    others: bool

    def allows(self, host: str) -> bool:
        """Whether a name or an address may be called; the addresses of a name are judged once they are known."""
        try:
            address = ip_address(host)
        except ValueError:
            return self.own_machine if host == "localhost" or host.endswith(".localhost") else self.others
        if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        if address.is_loopback:
            return self.own_machine
        # These also lead to this machine or to its provider, such as a cloud's metadata service.
        return self.others and not (address.is_unspecified or address.is_link_local)


HERE = Reach(own_machine=True, others=False)
EVERYWHERE = Reach(own_machine=True, others=True)


def is_loopback(host: str) -> bool:
    """Whether a name or an address leads to this machine."""
    return HERE.allows(host)
