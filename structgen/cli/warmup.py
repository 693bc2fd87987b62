"""``structgen warmup``: compile what would be compiled at the first use."""

from __future__ import annotations

import typer


def warmup() -> None:
    """Compile the grammar code for this machine now, so that the first use need not."""
    from structgen.grammars import warm_up  # here, since the help of all commands imports this module

    seconds = warm_up()
    typer.echo("ready: it was compiled already" if seconds is None else f"ready: compiled in {seconds:.1f} s")
