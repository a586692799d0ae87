"""Sign checkpoints of the workflow log (Ed25519) with a key that is never in the database.

The checkpoints, or the public key alone, are enough to detect that the tail of a log was removed or rewritten.
"""

from datetime import datetime

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from mainspring.domain.instant import rfc3339
from mainspring.outbound.vault import KeyRing
from mainspring.ports.workflows import Checkpoint
from mainspring.workflow.audit import Anchor, canonical
from mainspring.workflow.bundle import Signed

DOMAIN = b"mainspring.checkpoint.v1\n"


class CheckpointSigner:
    def __init__(self, keys: KeyRing) -> None:
        self._keys = keys

    def sign(self, partition: int, end: Anchor, tick: int, at: datetime) -> tuple[str, str]:
        self._keys.refresh()
        name = self._keys.primary_id
        signature = self._keys.checkpoint_keys[name].sign(_message(partition, end, tick, at))
        return self._keys.checkpoint_signatories[name], signature.hex()

    def is_genuine(self, checkpoint: Checkpoint) -> bool:
        if checkpoint.public_key not in self._keys.checkpoint_signatories.values():
            self._keys.refresh()
        return checkpoint.public_key in self._keys.checkpoint_signatories.values() and is_signed(checkpoint)


def is_signed(checkpoint: Checkpoint | Signed) -> bool:
    """Whether the signature matches the public key it names; the reader must know whose key that is."""
    end = Anchor(checkpoint.sequence, checkpoint.head)
    message = _message(checkpoint.partition, end, checkpoint.tick, checkpoint.signed_at)
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(checkpoint.public_key))
        key.verify(bytes.fromhex(checkpoint.signature), message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _message(partition: int, end: Anchor, tick: int, at: datetime) -> bytes:
    return DOMAIN + canonical([partition, end.number, tick, end.head, rfc3339(at)])
