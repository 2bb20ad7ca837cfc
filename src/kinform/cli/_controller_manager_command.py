"""``kinform controller-manager``: runs controllers against a cluster until Ctrl-C."""

from __future__ import annotations

import argparse
import logging
import sys
from typing import TYPE_CHECKING, Any

from kinform.cli import _argument_types
from kinform.cli._async_runner import run_async

if TYPE_CHECKING:
    from kinform.controller_manager import ControllerRegistry

_DESCRIPTION = """\
Run controllers, as kube-controller-manager does: all in one process, on one set of informers.
Without --kubeconfig, the cluster is that of $KUBECONFIG, ~/.kube/config, or the pod it runs in.
"""
_EXAMPLES = """\
examples:
  kinform controller-manager --list                            which controllers there are
  kinform controller-manager --kubeconfig ./kubeconfig         run all that are on by default
  kinform controller-manager --controllers='*,-job-controller' all but one
  kinform controller-manager --controllers=deployment,replicaset
  kinform controller-manager --leader-elect --address=:10257   one of several replicas works
"""


def add_command(commands: Any) -> None:
    parser = commands.add_parser(
        "controller-manager",
        help="run controllers against a cluster",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--kubeconfig", metavar="PATH", help="the cluster and the credentials")
    parser.add_argument("--context", metavar="NAME", help="the context of the kubeconfig")
    parser.add_argument(
        "--controllers",
        default="*",
        metavar="LIST",
        help="names to run, '-name' for those not to run, '*' for all that are on by default; the "
        "first mention of a controller counts (default: *)",
    )
    parser.add_argument(
        "--feature-gates",
        type=_argument_types.gates,
        default=(),
        metavar="LIST",
        help="gates to enable, such as A=true,B=false",
    )
    parser.add_argument(
        "--list", action="store_true", help="print the names of all controllers and exit"
    )
    parser.add_argument(
        "--address", metavar="HOST:PORT", help="serve probes, metrics and debug pages there"
    )
    parser.add_argument(
        "--use-service-accounts",
        metavar="NAMESPACE",
        help="impersonate, for each controller, the service account of its name",
    )
    parser.add_argument(
        "--start-interval",
        type=_argument_types.seconds,
        default=0.0,
        metavar="SECONDS",
        help="wait once to twice as long before each controller works (default: 0)",
    )
    parser.add_argument(
        "--shutdown-timeout",
        type=_argument_types.seconds,
        default=10.0,
        metavar="SECONDS",
        help="the time that controllers have to stop (default: 10)",
    )
    _add_election(parser)
    parser.add_argument("--verbose", action="store_true", help="log more than warnings")
    parser.set_defaults(run=run)


def _add_election(parser: Any) -> None:
    parser.add_argument(
        "--leader-elect", action="store_true", help="work only while this process has the lease"
    )
    for option, default, text in (
        ("namespace", "kube-system", "the namespace of the lease"),
        ("name", "kinform-controller-manager", "the name of the lease"),
    ):
        parser.add_argument(
            f"--leader-elect-resource-{option}",
            default=default,
            metavar="NAME",
            help=f"{text} (default: {default})",
        )
    for option, seconds, text in (
        ("lease-duration", 15.0, "others wait after the last renewal"),
        ("renew-deadline", 10.0, "this process works after the last renewal"),
        ("retry-period", 2.0, "between renewals"),
    ):
        parser.add_argument(
            f"--leader-elect-{option}",
            type=_argument_types.seconds,
            default=seconds,
            metavar="SECONDS",
            help=f"the time {text} (default: {seconds:g})",
        )


def run(arguments: argparse.Namespace) -> int:
    # Imported here to keep `kinform --help` fast.
    from kinform.controller_manager import default_registry

    registry = default_registry()
    if arguments.list:
        _print(registry)
        return 0
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.INFO if arguments.verbose else logging.WARNING,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    run_async(_run(arguments, registry))
    return 0


def _print(registry: ControllerRegistry) -> None:
    for each in registry:
        notes = [f"also {', '.join(each.aliases)}"] if each.aliases else []
        notes += [] if each.default_on else ["off by default"]
        notes += [f"needs the gate {gate}" for gate in each.gates]
        print(f"{each.name} ({'; '.join(notes)})" if notes else each.name)


async def _run(arguments: argparse.Namespace, registry: ControllerRegistry) -> None:
    from kinform.client import Client
    from kinform.controller_manager import ControllerClients, ControllerManager
    from kinform.controllers import LeaderElector

    is_given = arguments.kubeconfig is not None or arguments.context is not None
    async with (
        Client.from_kubeconfig(arguments.kubeconfig, arguments.context)
        if is_given
        else Client.from_env()
    ) as client:
        election = None
        if arguments.leader_elect:
            election = LeaderElector(
                client,
                arguments.leader_elect_resource_name,
                namespace=arguments.leader_elect_resource_namespace,
                lease_duration=arguments.leader_elect_lease_duration,
                renew_deadline=arguments.leader_elect_renew_deadline,
                retry_period=arguments.leader_elect_retry_period,
            )
        manager = ControllerManager(
            client,
            registry=registry,
            controllers=arguments.controllers,
            gates=arguments.feature_gates,
            clients=ControllerClients(client, service_accounts=arguments.use_service_accounts),
            start_interval=arguments.start_interval,
            election=election,
            address=arguments.address,
            grace=arguments.shutdown_timeout,
        )
        running = ", ".join(manager.controllers)
        print(f"kinform: running {running} on {client.config.server}", flush=True)
        await manager.run_until_signal()
    print("kinform: stopped", flush=True)
