# One recipe a job; `just` alone checks everything.

default: check

# lint, strict types, layers, tests
check: lint types layers test

lint:
    uv run --group check ruff check
    uv run --group check ruff format --check
    uv run --group check codespell

types:
    uv run --group check basedpyright

layers:
    uv run --group check lint-imports

# the site of the documentation, in `site/`; it stops at a broken link
site:
    uv run --group docs zensical build --strict

test *arguments:
    uv run --group dev pytest {{arguments}}

# random files, simulations, every kill at every moment: half an hour; then `just seeds`
campaign: && seeds
    uv run --group dev pytest --tier campaign

# the README's tests in twenty orders and surroundings, or in those that are named: `just seeds 4711`
seeds *numbers:
    uv run --group dev python tests/tools/seeds.py {{numbers}}

# how many changes to a room's code its tests find, such as `just mutants comparison --count 100`
mutants room *arguments:
    nice uv run --group check python tests/tools/mutants.py {{room}} {{arguments}}

# measure how fast exports are read, beside every other way to read them
bench *arguments:
    uv run python bench/parse.py {{arguments}}

# put code in order
format:
    uv run --group check ruff check --fix
    uv run --group check ruff format

# rewrite golden files and generated reference pages from what the code says now
update:
    uv run --group dev pytest --numprocesses=0 --update-goldens

# take the newest versions within the bounds of pyproject.toml, for fresh clones and for CI
pin:
    uv run --group check python tests/tools/pin.py

# fetch the published schemas that reports are checked against, and axe-core for pages, once; without them tests are skipped
schemas:
    ls .schemas/pytest-*.tar.gz >/dev/null 2>&1 || uvx --quiet pip@26.3 download --quiet --no-deps --no-binary pytest --dest .schemas pytest==9.2.0
    ls .schemas/microsoft-jest-sarif-*.tgz >/dev/null 2>&1 || npm pack --silent --pack-destination .schemas @microsoft/jest-sarif@1.0.0-beta.0
    ls .schemas/axe-core-4.14.1.tgz >/dev/null 2>&1 || npm pack --silent --pack-destination .schemas axe-core@4.14.1
