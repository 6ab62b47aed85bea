//! A cluster that something else created, as firelay takes it over: its PKI, its objects, and the spec that follows from them.
//!
//! Sources: kubeadm's names of files (`cmd/kubeadm/app/constants/constants.go`) and its ConfigMaps (`phases/uploadconfig`).

pub mod pki;
