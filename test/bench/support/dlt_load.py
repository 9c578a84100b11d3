"""dlt's two fastest ways from a CSV into DuckDB; neither checks a row or numbers it. Prints one JSON line."""

import json
import os
import resource
import sys
import time

import dlt
from dlt.sources.filesystem import filesystem, read_csv_duckdb

way, csv_path, folder = sys.argv[1:4]
os.environ["RUNTIME__DLTHUB_TELEMETRY"] = "false"
os.environ["RUNTIME__LOG_LEVEL"] = "CRITICAL"
pipeline = dlt.pipeline(
    "bench",
    destination=dlt.destinations.duckdb(os.path.join(folder, "dlt.duckdb")),
    dataset_name="d",
    pipelines_dir=os.path.join(folder, "pipelines"),
)


@dlt.resource(name="shipments")
def arrow():
    import pyarrow.csv

    options = pyarrow.csv.ParseOptions(newlines_in_values=True)
    with pyarrow.csv.open_csv(csv_path, parse_options=options) as reader:
        yield from reader


def duckdb_reader():
    files = filesystem(bucket_url="file://" + os.path.dirname(csv_path), file_glob=os.path.basename(csv_path))
    return (files | read_csv_duckdb(chunk_size=100_000, use_pyarrow=True)).with_name("shipments")


began = time.perf_counter()
pipeline.run(arrow() if way == "arrow" else duckdb_reader(), loader_file_format="parquet")
ms = (time.perf_counter() - began) * 1000
with pipeline.sql_client() as client:
    rows = client.execute_sql("select count(*) from shipments")[0][0]
usage = resource.getrusage(resource.RUSAGE_SELF)
cpu_ms = (usage.ru_utime + usage.ru_stime) * 1000
print(json.dumps({"ms": ms, "rows": rows, "peakMb": usage.ru_maxrss / 1024, "cpuMs": cpu_ms}))
