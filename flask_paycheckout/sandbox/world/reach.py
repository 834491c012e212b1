"""Which machines a sandbox may send webhooks to."""

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
        # These lead to this machine or to its keeper, such as the metadata of a cloud, by another way.
        return self.others and not (address.is_unspecified or address.is_link_local)


HERE = Reach(own_machine=True, others=False)
EVERYWHERE = Reach(own_machine=True, others=True)


def is_loopback(host: str) -> bool:
    """Whether a name or an address leads to this machine."""
    return HERE.allows(host)
