//! What news of each kind of object means to the state: a kind that is new has its two arms here.

use super::ClusterState;
use muster_model::{Object, ObjectKey};

impl ClusterState {
    /// An object appeared or changed.
    pub(super) fn take_object(&mut self, object: Object) {
        match object {
            Object::Node(spec) => self.upsert_node(*spec),
            Object::Pod(spec) => self.upsert_pod(*spec),
            Object::Gang(spec) => self.upsert_definition(*spec),
            Object::Queue(spec) => {
                let names = spec.limit.iter().chain(&spec.guaranteed);
                self.find_numbers_for(names.map(|(name, _)| name));
                let dimensions = &mut self.dimensions;
                let wished_by = self.queue_wishes.for_queue(&spec.name);
                self.changes.gangs.extend(wished_by);
                let changed = self.queues.upsert(*spec, |name| dimensions.register(name));
                self.know_more_resources();
                self.queue_changed(changed);
            }
            // What they mean was told as a queue, or a gang.
            Object::VolcanoQueue(_) | Object::MpiJob(_) => {}
            Object::Testbed(spec) => self.upsert_testbed(*spec),
            Object::TestbedSlice(spec) => self.upsert_slice(*spec),
            Object::Topology(spec) => {
                let changed = self.topologies.upsert(*spec, &self.nodes);
                self.topologies_changed(changed);
            }
            Object::HyperNode(spec) => {
                let moved = self.topologies.upsert_hyper_node(*spec, &self.nodes);
                self.hyper_nodes_changed(moved);
            }
            Object::PriorityClass(spec) => {
                if self.priority_classes.get(&spec.name) != Some(&*spec) {
                    self.priority_classes.insert(spec.name.clone(), *spec);
                    self.touch_all_gangs();
                }
            }
            Object::Namespace(spec) => self.touch_namespace(&spec.name.clone(), Some(*spec)),
            Object::DisruptionBudget(spec) => self.upsert_budget(*spec),
            Object::Claim(spec) => {
                let key = spec.key.clone();
                self.change_storage(|all, stir| all.set_claim(&key, Some(*spec), stir));
            }
            Object::Volume(spec) => {
                let name = spec.name.clone();
                self.change_storage(|all, stir| all.set_volume(&name, Some(*spec), stir));
            }
            Object::StorageClass(spec) => {
                let name = spec.name.clone();
                self.change_storage(|all, stir| all.set_class(&name, Some(*spec), stir));
            }
            Object::CsiNode(spec) => {
                let name = spec.name.clone();
                self.change_storage(|all, stir| all.set_csi_node(&name, Some(*spec), stir));
            }
            Object::CsiDriver(spec) => {
                let name = spec.name.clone();
                self.change_storage(|all, stir| all.set_driver(&name, Some(*spec), stir));
            }
            Object::PodSelector(spec) => self.upsert_selector(*spec),
            Object::StorageCapacity(spec) => {
                let key = spec.key.clone();
                self.change_storage(|all, stir| all.set_capacity(&key, Some(*spec), stir));
            }
            Object::VolumeAttachment(spec) => {
                let name = spec.name.clone();
                self.change_storage(|all, stir| all.set_attachment(&name, Some(*spec), stir));
            }
        }
    }

    /// An object is gone.
    pub(super) fn forget_object(&mut self, key: &ObjectKey) {
        match key {
            ObjectKey::Node(name) => self.remove_node(name),
            ObjectKey::Pod(key) => self.remove_pod_by_key(key),
            ObjectKey::Gang(key, source) => self.remove_definition(key, *source),
            ObjectKey::Queue(name) => {
                let wished_by = self.queue_wishes.for_queue(name);
                self.changes.gangs.extend(wished_by);
                let changed = self.queues.remove(name);
                self.queue_changed(changed);
            }
            ObjectKey::VolcanoQueue(_) | ObjectKey::MpiJob(..) => {}
            ObjectKey::Testbed(name) => self.remove_testbed(name),
            ObjectKey::TestbedSlice(name) => self.remove_slice(name),
            ObjectKey::Topology(name) => {
                let changed = self.topologies.remove(name);
                self.topologies_changed(changed);
            }
            ObjectKey::HyperNode(name) => {
                let moved = self.topologies.remove_hyper_node(name, &self.nodes);
                self.hyper_nodes_changed(moved);
            }
            ObjectKey::PriorityClass(name) => {
                if self.priority_classes.remove(name).is_some() {
                    self.touch_all_gangs();
                }
            }
            ObjectKey::Namespace(name) => self.touch_namespace(name, None),
            ObjectKey::DisruptionBudget(namespace, name) => self.remove_budget(namespace, name),
            ObjectKey::Claim(key) => {
                self.change_storage(|all, stir| all.set_claim(key, None, stir));
            }
            ObjectKey::Volume(name) => {
                self.change_storage(|all, stir| all.set_volume(name, None, stir));
            }
            ObjectKey::StorageClass(name) => {
                self.change_storage(|all, stir| all.set_class(name, None, stir));
            }
            ObjectKey::CsiNode(name) => {
                self.change_storage(|all, stir| all.set_csi_node(name, None, stir));
            }
            ObjectKey::CsiDriver(name) => {
                self.change_storage(|all, stir| all.set_driver(name, None, stir));
            }
            ObjectKey::PodSelector(key) => self.remove_selector(key),
            ObjectKey::StorageCapacity(key) => {
                self.change_storage(|all, stir| all.set_capacity(key, None, stir));
            }
            ObjectKey::VolumeAttachment(name) => {
                self.change_storage(|all, stir| all.set_attachment(name, None, stir));
            }
        }
    }

    fn queue_changed(&mut self, changed: Option<super::QueueId>) {
        if let Some(id) = changed {
            self.changes.queues.insert(id);
            self.changes.rules = true;
            self.touch_queue(id);
        }
    }
}
