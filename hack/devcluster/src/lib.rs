//! A Kubernetes control plane on loopback, without containers.
