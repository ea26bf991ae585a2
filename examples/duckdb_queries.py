"""The questions of queries.sql, put to the CSV with DuckDB (pip install duckdb).

    halfpower export study.halfpower --format csv --output study.csv
    python3 examples/duckdb_queries.py study.csv          # tables
    python3 examples/duckdb_queries.py study.csv --csv    # rows, for another program
"""

import csv
import pathlib
import sys

import duckdb


def main() -> None:
    study = sys.argv[1]
    database = duckdb.connect()
    # A seed uses all 64 bits, so it stays text; everything else says its type by itself.
    database.read_csv(study, dtype={"seed": "VARCHAR"}).create_view("record")
    queries = pathlib.Path(__file__).with_name("queries.sql").read_text()
    for query in duckdb.extract_statements(queries):
        answer = database.execute(query)
        names = [column[0] for column in answer.description]
        rows = answer.fetchall()
        if "--csv" in sys.argv:
            csv.writer(sys.stdout, lineterminator="\n").writerows([names, *rows])
        else:
            show(names, rows)


def show(names: list[str], rows: list[tuple]) -> None:
    table = [names, *(["" if value is None else str(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table)]
    for row in table:
        print("  ".join(value.rjust(width) for value, width in zip(row, widths)))
    print()


if __name__ == "__main__":
    main()
