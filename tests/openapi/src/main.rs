//! Prints the JSON Schemas of the Kubernetes objects that firelay's manifests may contain, as strict as the API server
//! with `fieldValidation=Strict`: unknown fields are refused. See README.md.

use k8s_openapi::{
    Resource, api, apiextensions_apiserver::pkg::apis as extensions, kube_aggregator::pkg::apis as aggregator,
};
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

fn add<T: JsonSchema + Resource>(generator: &mut SchemaGenerator, kinds: &mut Map<String, Value>) {
    let schema = generator.subschema_for::<T>().to_value();
    kinds.insert(format!("{} {}", T::API_VERSION, T::KIND), schema["$ref"].clone());
}

/// The type of any JSON value; its crate names it object.
const ANY: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON";

/// Keywords for people, and those that validators warn about.
const IDLE: [&str; 4] = ["description", "title", "default", "format"];

/// Makes a schema refuse fields that it does not name.
fn strict(value: &mut Value) {
    match value {
        Value::Object(fields) if fields.contains_key("x-kubernetes-int-or-string") => {
            *value = json!({ "type": ["integer", "string"] });
        }
        Value::Object(fields) => {
            for key in IDLE {
                if fields.get(key).is_some_and(Value::is_string) || key == "default" {
                    fields.remove(key);
                }
            }
            if fields.get("properties").is_some_and(Value::is_object) && fields.get("type") == Some(&json!("object")) {
                fields.entry("additionalProperties").or_insert(json!(false));
            }
            if let Some(Value::Object(properties)) = fields.get_mut("properties") {
                properties.values_mut().for_each(strict);
            }
            for (_, inner) in fields.iter_mut().filter(|(key, _)| *key != "properties") {
                strict(inner);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(strict),
        _ => {}
    }
}

fn main() {
    let settings = SchemaSettings::draft2020_12().with(|it| it.inline_subschemas = false);
    let mut generator = settings.into_generator();
    let mut kinds = Map::new();
    macro_rules! kinds {
        ($($kind:ty),* $(,)?) => { $(add::<$kind>(&mut generator, &mut kinds);)* };
    }
    kinds!(
        api::admissionregistration::v1::MutatingWebhookConfiguration,
        api::admissionregistration::v1::ValidatingAdmissionPolicy,
        api::admissionregistration::v1::ValidatingAdmissionPolicyBinding,
        api::admissionregistration::v1::ValidatingWebhookConfiguration,
        api::apps::v1::DaemonSet,
        api::apps::v1::Deployment,
        api::apps::v1::StatefulSet,
        api::autoscaling::v2::HorizontalPodAutoscaler,
        api::batch::v1::CronJob,
        api::batch::v1::Job,
        api::coordination::v1::Lease,
        api::core::v1::ConfigMap,
        api::core::v1::LimitRange,
        api::core::v1::Namespace,
        api::core::v1::PersistentVolume,
        api::core::v1::PersistentVolumeClaim,
        api::core::v1::Pod,
        api::core::v1::ResourceQuota,
        api::core::v1::Secret,
        api::core::v1::Service,
        api::core::v1::ServiceAccount,
        api::networking::v1::IngressClass,
        api::networking::v1::NetworkPolicy,
        api::node::v1::RuntimeClass,
        api::policy::v1::PodDisruptionBudget,
        api::rbac::v1::ClusterRole,
        api::rbac::v1::ClusterRoleBinding,
        api::rbac::v1::Role,
        api::rbac::v1::RoleBinding,
        api::scheduling::v1::PriorityClass,
        api::storage::v1::CSIDriver,
        api::storage::v1::StorageClass,
        extensions::apiextensions::v1::CustomResourceDefinition,
        aggregator::apiregistration::v1::APIService,
    );
    let mut definitions = generator.take_definitions(true);
    // Any valid JSON: the default or an enum of a property.
    definitions.insert(ANY.to_owned(), json!({}));
    definitions.values_mut().for_each(strict);
    println!("{{\"kinds\":{},\"$defs\":{{", Value::Object(kinds));
    let lines: Vec<_> = definitions
        .iter()
        .map(|(name, schema)| format!("{}:{schema}", json!(name)))
        .collect();
    println!("{}\n}}}}", lines.join(",\n"));
}
