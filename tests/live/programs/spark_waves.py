"""A Spark application that has nothing to do, then four tasks at once, and then nothing again.

    spark_waves.py START GO END

The tasks begin when the file START is there, end when GO is there, and it ends with END.
"""
import os
import sys
import time

from pyspark.sql import SparkSession


def wait_for(file):
    while not os.path.exists(file):
        time.sleep(0.1)


def main():
    start, go, end = sys.argv[1:]
    spark = SparkSession.builder.appName("Waves").getOrCreate()
    wait_for(start)

    def task(number):
        # What is in this file is not there on executors.
        while not os.path.exists(go):
            time.sleep(0.1)
        return number

    print("sum", spark.sparkContext.parallelize(range(4), 4).map(task).sum(), flush=True)
    wait_for(end)
    spark.stop()


if __name__ == "__main__":
    main()
