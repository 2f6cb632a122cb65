//! Work of the host that what is queued on a device waits for.
//!
//! A task begins once all that was queued before [`Device::begin_host_task`](crate::Device::begin_host_task) is done, and what is queued after
//! [`Device::end_host_task`](crate::Device::end_host_task) waits until it is over; what is queued between the two runs meanwhile. Both can be recorded, so that
//! an iteration that sends messages is replayed like any other. Host tasks of a device run one after the other, in the order of
//! their places in the stream: the next one begins after the end of the last.
//!
//! CUDA's streams write and wait for numbers in memory of the host, and a [`Proxy`] does the work; OpenCL's queues are filled
//! by the host, which does it in between.

use crate::counters::count_host_task;
use crate::device::Device;
use crate::prelude::*;
use crate::proxy::{Flags, HostTask, HostTaskMethod, Proxy, Work};

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
    ///
    /// # Errors
    /// For a task of another device.
    pub fn begin_host_task(&self, task: &HostTask) -> Result<()> {
        self.check_task(task)?;
        if !count_host_task() {
            self.announce_host_tasks(1);
        }
        self.driver().begin_host_task(task)
    }

    /// Queues waiting for the end of a task.
    pub fn end_host_task(&self, task: &HostTask) -> Result<()> {
        self.check_task(task)?;
        self.driver().end_host_task(task)
    }

    /// Fails for a task of another device, whose flags are no concern of this one.
    fn check_task(&self, task: &HostTask) -> Result<()> {
        let own = lock(&self.proxy).as_ref().map(Arc::as_ptr);
        match own == task.proxy.as_ref().map(Arc::as_ptr) {
            true => Ok(()),
            false => Err(self.driver().lacks_host_tasks(task)),
        }
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
        // SAFETY: memory of that size, aligned to more than a cache line, which is given back after the proxy has ended and the
        // stream is idle.
        let made = Proxy::start(unsafe { Flags::new(room) });
        Ok(Arc::clone(proxy.insert(made)))
    }
}
