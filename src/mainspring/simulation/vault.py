"""A vault for simulations."""


class NoVault:
    """Refuses to seal or open anything: scenarios have no secrets."""

    def seal(self, plain: str, context: str) -> str:
        return plain

    def open(self, sealed: str, context: str) -> str:
        return sealed

    def is_current(self, sealed: str) -> bool:
        return True

    def retired(self) -> str:
        return ""

    def recall(self, retired: str) -> None:
        pass
