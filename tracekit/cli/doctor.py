"""`doctor`: is this machine ready to record?"""

from typing import Annotated

import typer


def doctor(
    *,
    probe: Annotated[
        bool,
        typer.Option(
            "--probe",
            help="Record a probe for two seconds in each way, and keep what came of it.",
        ),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Say whether this machine can record.

    Exit code 0: nothing stands in the way; 3: something failed, its fix is printed; 4: something
    that recording needs could not be found out.
    """
    from tracekit.base.errors import InterruptedRunError
    from tracekit.base.files import notes_folder
    from tracekit.cli import console
    from tracekit.record.doctor.examine import examine, probe_machine
    from tracekit.record.doctor.surroundings import here

    where, machine, fresh = notes_folder(), here(), None
    try:
        if probe:
            with console.progress("probe") as progress:
                fresh = probe_machine(machine, progress)
        with console.progress("examine") as progress:
            diagnosis = examine(machine, where, progress, fresh)
    except KeyboardInterrupt as stop:
        raise InterruptedRunError("Interrupted; nothing is kept.") from stop
    console.show_diagnosis(diagnosis, json=json)
    raise typer.Exit(diagnosis.exit_code)
