"""`stackctl model`, and `stackctl lock`, which writes it down. Nothing is decided here."""

from __future__ import annotations

import click

from stackctl.app import App, selects
from stackctl.commands.selection import Selection
from stackctl.errors import UsageError


def names_of(hosts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for word in hosts for name in word.split(",") if name)


@click.command(short_help="Say what the model's folder holds on each host.")
@click.option("--full", is_flag=True, help="Hash whole shards too, and compare them.")
@click.option("--folder", metavar="DIR", help="A folder of this machine instead, without a stack.")
@click.option("-H", "--hosts", multiple=True, metavar="HOST[,HOST]", help="Only these hosts.")
@selects
@click.pass_obj
def model(app: App, selection: Selection, full: bool, folder: str | None, hosts: tuple[str, ...]) -> int:
    """Say what the model's folder holds on each host, and whether the stack means that."""
    from stackctl.commands.hosts.model import ModelRequest
    from stackctl.commands.hosts.model import model as run
    from stackctl.output.model import show_model

    return app.show(run(app.ports, ModelRequest(selection, names_of(hosts), full, folder)), show_model)


@click.command(short_help="Write stacks/NAME.lock: base, patches, trees.")
@click.option("--model", "with_model", is_flag=True, help="Read the model on its hosts, and write its manifest too.")
@click.option("--full", is_flag=True, help="With --model: hash whole shards too.")
@click.option("-H", "--hosts", multiple=True, metavar="HOST[,HOST]", help="With --model: only these hosts.")
@selects
@click.pass_obj
def lock(app: App, selection: Selection, with_model: bool, full: bool, hosts: tuple[str, ...]) -> int:
    """Write stacks/NAME.lock: base, patches, trees; and what the model is."""
    from stackctl.commands.hosts.manifest import LockModelRequest, lock_model
    from stackctl.commands.lock import lock as run
    from stackctl.output.stack import show_lock

    if with_model:
        return app.show(lock_model(app.ports, LockModelRequest(selection, names_of(hosts), full)), show_lock)
    if full or hosts:
        raise UsageError("--full and --hosts are for --model", "a lock of the rest asks no host")
    return app.show(run(app.ports, selection), show_lock)


VERBS = (model, lock)
