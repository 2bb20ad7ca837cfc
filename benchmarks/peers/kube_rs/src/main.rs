//! A kubeconfig and a mode in, one JSON line about a reflector of all pods out.
//!
//!     kube-rs '{"kubeconfig": "...", "mode": "sync", "objects": 20000, ...}'
//!
//! Modes: "sync" ends some seconds after the initial sync; "steady" says "synced", then counts
//! the changes between the lines "go" and "stop" on its standard input.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::stdin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{StreamExt, TryStreamExt, future, pin_mut};
use k8s_openapi::api::core::v1::Pod;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt, reflector, watcher};
use kube::{Api, Client, Config};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Parameters {
    kubeconfig: String,
    mode: String,
    objects: usize,
    /// The label that holds when a change was written.
    stamp: String,
    /// When this process was started, in nanoseconds of CLOCK_MONOTONIC.
    started: i64,
    /// Seconds to wait before memory is read.
    rest: f64,
}

/// What is counted between "go" and "stop".
#[derive(Default)]
struct Window {
    open: bool,
    delays: Vec<i64>,
    missing: usize,
}

impl Window {
    fn note(&mut self, labels: Option<&BTreeMap<String, String>>, stamp: &str) {
        if !self.open {
            return;
        }
        let written = labels.and_then(|all| all.get(stamp)).and_then(|text| text.parse().ok());
        match written {
            Some::<i64>(written) => self.delays.push((monotonic() - written) / 1000),
            None => self.missing += 1,
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let given: Parameters = serde_json::from_str(&std::env::args().nth(1).unwrap_or_default())?;
    let kubeconfig = Kubeconfig::read_from(&given.kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let pods: Api<Pod> = Api::all(Client::try_from(config)?);
    let (store, writer) = reflector::store();
    let window = Arc::new(Mutex::new(Window::default()));
    let (seen, label) = (window.clone(), given.stamp.clone());
    let (synced, is_synced) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        let settings = watcher::Config::default().streaming_lists();
        let events = reflector(writer, watcher(pods, settings)).default_backoff();
        follow(events, synced, &seen, &label).await;
    });
    let objects = is_synced.await?;
    if objects != given.objects || store.len() != given.objects {
        return Err(format!("{objects} objects, not {}", given.objects).into());
    }
    let mut record = json!({
        "objects": objects,
        "cpu": cpu(),
        "work_wall": (monotonic() - given.started) as f64 / 1e9,
    });
    if given.mode == "sync" {
        tokio::time::sleep(Duration::from_secs_f64(given.rest)).await;
        record["rested_cpu"] = json!(cpu());
    } else {
        steady(&window, &mut record).await?;
    }
    record["rest"] = memory("VmRSS");
    record["peak"] = memory("VmHWM");
    println!("{record}");
    std::process::exit(0)
}

/// The handler: it counts the initial objects, and notes every change after them.
async fn follow(
    events: impl futures::Stream<Item = watcher::Result<Event<Pod>>>,
    synced: tokio::sync::oneshot::Sender<usize>,
    window: &Mutex<Window>,
    label: &str,
) {
    let (mut initial, mut synced) = (0, Some(synced));
    let events = events.inspect_err(|error| eprintln!("{error}"));
    let handled = events.for_each(|event| {
        match event {
            Ok(Event::Init) => initial = 0,
            Ok(Event::InitApply(_)) => initial += 1,
            Ok(Event::InitDone) => {
                synced.take().map(|waiting| waiting.send(initial));
            }
            Ok(Event::Apply(pod)) => {
                window.lock().unwrap().note(pod.metadata.labels.as_ref(), label)
            }
            _ => {}
        }
        future::ready(())
    });
    pin_mut!(handled);
    handled.await
}

/// Lets the harness say when the changes begin and when they are over.
async fn steady(window: &Mutex<Window>, record: &mut Value) -> Result<(), Box<dyn Error>> {
    println!("synced");
    command().await?;
    window.lock().unwrap().open = true;
    let before = cpu();
    command().await?;
    record["window_cpu"] = json!(cpu() - before);
    let mut seen = window.lock().unwrap();
    seen.open = false;
    record["delays"] = json!(seen.delays);
    record["missing"] = json!(seen.missing);
    Ok(())
}

async fn command() -> Result<(), Box<dyn Error>> {
    tokio::task::spawn_blocking(|| stdin().read_line(&mut String::new())).await??;
    Ok(())
}

fn monotonic() -> i64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

fn cpu() -> f64 {
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut used) };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(used.ru_utime) + seconds(used.ru_stime)
}

/// A line of /proc/self/status, in bytes.
fn memory(name: &str) -> Value {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(name));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    json!(kilobytes.map(|size| size * 1024))
}
