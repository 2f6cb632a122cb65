//! Host tasks of a device.

use std::sync::Arc;

use crate::counters::count_host_task;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::host_task::{HostTask, HostTaskMethod};
use crate::proxy::{Flags, Proxy, Work};
use crate::sync::lock;

impl Device {
    /// Whether host tasks can be queued here.
    pub fn has_host_tasks(&self) -> bool {
        self.driver().host_task_method().is_some()
    }

    /// Something that the host is to do whenever it is queued.
    pub fn host_task(self: &Arc<Self>, work: Arc<Work>) -> Result<HostTask> {
        let proxy = match self.driver().host_task_method() {
            None => {
                let what = "waiting for the host";
                return Err(Error::unsupported(self.properties(), what));
            }
            Some(HostTaskMethod::Queue) => None,
            Some(HostTaskMethod::Flags) => Some(self.proxy()?),
        };
        let number = match &proxy {
            Some(proxy) => proxy.learn(&work),
            None => 0,
        };
        Ok(HostTask {
            work,
            number,
            proxy,
        })
    }

    /// Queues the begin of a task.
    pub fn begin_host_task(&self, task: &HostTask) -> Result<()> {
        if !count_host_task() {
            self.announce_host_tasks(1);
        }
        self.driver().begin_host_task(task)
    }

    /// Queues waiting for the end of a task.
    pub fn end_host_task(&self, task: &HostTask) -> Result<()> {
        self.driver().end_host_task(task)
    }

    /// Wakes the proxy for so many host tasks that are about to be queued.
    pub(crate) fn announce_host_tasks(&self, count: u64) {
        if let Some(proxy) = lock(&self.proxy).as_ref() {
            proxy.expect(count);
        }
    }

    fn proxy(&self) -> Result<Arc<Proxy>> {
        let mut proxy = lock(&self.proxy);
        if let Some(proxy) = proxy.as_ref() {
            return Ok(Arc::clone(proxy));
        }
        let room = self.driver().allocate_pinned(Flags::BYTES)?;
        // SAFETY: memory of that size, aligned to more than a cache line, which is never given back.
        let made = Proxy::start(unsafe { Flags::new(room) });
        Ok(Arc::clone(proxy.insert(made)))
    }
}
