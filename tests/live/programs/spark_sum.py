"""A Spark application: sums numbers on its executors once it is told to, and writes down the sum and who took part.

    sum.py GO RESULT

It begins when the file GO is there; if that has words in it, it fails with them.
"""
import json
import os
import sys
import time

from pyspark.sql import SparkSession


def main():
    go, result = sys.argv[1:]
    spark = SparkSession.builder.appName("Sum").getOrCreate()
    while not os.path.exists(go):
        time.sleep(0.1)
    with open(go, encoding="utf-8") as file:
        words = file.read()
    if words:
        raise RuntimeError(words)
    numbers = spark.sparkContext.parallelize(range(1, 1001), 8)

    def part(some):
        # So long that nobody does all of it alone.
        time.sleep(0.2)
        yield os.environ["SPARK_EXECUTOR_ID"], sum(some)

    parts = numbers.mapPartitions(part).collect()
    found = {"sum": sum(part for _, part in parts), "executors": sorted({one for one, _ in parts})}
    with open(result, "w", encoding="utf-8") as file:
        json.dump(found, file)
    spark.stop()


if __name__ == "__main__":
    main()
