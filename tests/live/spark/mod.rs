//! Real Spark applications: `spark-submit` of PyPI's pyspark, drivers and executors as processes.
//!
//! Needs what `hack/build-control-plane` builds, Java, Python, and what `hack/spark` fetches.

mod applications;
mod slots;
