"""The verb `gc`: finds the runs, their rules and their registries, and carries the plan out."""

from argparse import Namespace
from collections.abc import Callable

from components.errors import ConfigError
from components.promotion.audit import who
from components.retention.collect import plan, run_settings
from components.retention.page import plan_lines
from components.retention.plan import Fate
from components.retention.runs import KEEP_ALL, Rules, run_names
from components.retention.sweep import carry_out, size_text
from components.settings import StorageConfig, TrackingConfig
from components.storage import Store, open_store
from pipelines.finding import find_run

Say = Callable[[str], None]


def collect_garbage(options: Namespace, say: Say) -> None:
    """Mark and remove, or say what would be. ConfigError for wrong arguments."""
    store, run, given = _place(options)
    say(f"{store.uri}: reading what refers to what ...")
    rules, tracking = _settings(store, options, run, given)
    scope = None if options.all else run
    found = plan(store, rules, tracking, scope, options.grace_hours * 3600)
    for line in plan_lines(found, options.dry_run):
        say(line)
    if options.dry_run:
        say("nothing was changed: --dry-run")
        return
    done = carry_out(store, found, who(), say)
    num_gone = len(done.removed) + done.num_leftovers
    say(f"removed {num_gone}, {size_text(done.num_bytes)}; marked {done.num_marked} more")
    waiting = done.num_marked + sum(item.fate is Fate.WAIT for item in found.items)
    if waiting:
        say(f"{waiting} wait: call gc again when they have been marked {options.grace_hours:g} h")


def _place(options: Namespace) -> tuple[Store, str | None, StorageConfig | None]:
    """The store, the run in question, and the storage settings of the file that named it."""
    if options.run is None:
        if not options.all:
            raise ConfigError(
                "gc: expected RUN, or --all for the whole store (and --dry-run first)"
            )
        uri = options.store
        return open_store(StorageConfig() if uri is None else StorageConfig(uri=uri)), None, None
    found = find_run(options.run, options.store)
    by_file = options.run != found.name
    return found.store, found.name, found.config.storage if by_file else None


def _settings(
    store: Store, options: Namespace, run: str | None, given: StorageConfig | None
) -> tuple[dict[str, Rules], list[TrackingConfig]]:
    """Every run's rules, and every run's registry."""
    keys = store.list("runs/")
    rules, tracking = {}, []
    if not (names := run_names(keys)):
        raise ConfigError(f"gc: {store.uri} holds no run at all: another --store?")
    for name in names:
        storage, place = run_settings(store, name, keys)
        chosen = options.all or name == run
        rules[name] = _rules(given if given and name == run else storage, options, chosen)
        tracking.append(place)
    return rules, tracking


def _rules(storage: StorageConfig, options: Namespace, chosen: bool) -> Rules:
    """A run's own, or those of the command line; a run that is not looked at loses nothing."""
    if not chosen:
        return KEEP_ALL
    return Rules(
        options.keep_optimizers or storage.keep_optimizers,
        options.keep_policies_every or storage.keep_policies_every,
    )
