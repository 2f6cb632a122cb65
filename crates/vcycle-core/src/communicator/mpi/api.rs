//! The functions of MPI that are used, and the two forms their handles have.
//!
//! Open MPI's handles are addresses of variables in its library, MPICH's are numbers of 32 bits. Both go into a register
//! as 64 bits, of which MPICH reads the lower half; only arrays of requests differ.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};

use libloading::Library;

use crate::communicator::Span;
use crate::error::{Error, Result};

/// A communicator as the library knows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Comm(usize);

/// The tag of all messages: those between two ranks keep their order.
const TAG: c_int = 21;
/// Several threads may call, one at a time.
const SERIALIZED: c_int = 2;

/// Constants of MPICH's interface, which libraries derived from it share.
const MPICH_WORLD: usize = 0x4400_0000;
const MPICH_BYTE: usize = 0x4c00_010d;
const MPICH_STATUSES_IGNORE: usize = 1;

/// Bytes of the longest version text: `MPI_MAX_LIBRARY_VERSION_STRING` of MPICH.
const VERSION_BYTES: usize = 8192;

macro_rules! functions {
    ($($field:ident $name:literal ($($argument:ident: $type:ty),*);)*) => {
        /// The functions, by their names in lower case.
        #[derive(Debug)]
        struct Functions {
            $($field: unsafe extern "C" fn($($type),*) -> c_int,)*
        }

        impl Functions {
            fn load(library: &Library) -> Result<Self> {
                Ok(Self {
                    $($field: {
                        // SAFETY: the types are those of the MPI standard, with handles as described for the module.
                        let symbol = unsafe { library.get(concat!($name, "\0").as_bytes()) };
                        *symbol.map_err(|_| Error::Team(format!("MPI: the library has no {}", $name)))?
                    },)*
                })
            }

            $(
                /// # Safety
                /// That of the MPI standard: pointers are to as many items as the function reads or writes.
                unsafe fn $field(&self, $($argument: $type),*) -> Result<()> {
                    // SAFETY: a condition of this function.
                    match unsafe { (self.$field)($($argument),*) } {
                        0 => Ok(()),
                        code => Err(Error::Team(format!("{} failed with code {code}", $name))),
                    }
                }
            )*
        }
    };
}

functions! {
    initialized "MPI_Initialized"(flag: *mut c_int);
    finalized "MPI_Finalized"(flag: *mut c_int);
    init_thread "MPI_Init_thread"(argc: *mut c_int, argv: *mut *mut *mut c_char, wanted: c_int, level: *mut c_int);
    query_thread "MPI_Query_thread"(level: *mut c_int);
    finalize "MPI_Finalize"();
    abort "MPI_Abort"(comm: usize, status: c_int);
    comm_rank "MPI_Comm_rank"(comm: usize, rank: *mut c_int);
    comm_size "MPI_Comm_size"(comm: usize, size: *mut c_int);
    comm_split "MPI_Comm_split"(comm: usize, colour: c_int, key: c_int, part: *mut usize);
    isend "MPI_Isend"(from: *const c_void, count: c_int, kind: usize, rank: c_int, tag: c_int, comm: usize, request: *mut c_void);
    irecv "MPI_Irecv"(to: *mut c_void, count: c_int, kind: usize, rank: c_int, tag: c_int, comm: usize, request: *mut c_void);
    waitall "MPI_Waitall"(count: c_int, requests: *mut c_void, statuses: usize);
    allgather "MPI_Allgather"(own: *const c_void, sent: c_int, kind: usize, all: *mut c_void, received: c_int, kinds: usize, comm: usize);
    iallgather "MPI_Iallgather"(own: *const c_void, sent: c_int, kind: usize, all: *mut c_void, received: c_int, kinds: usize, comm: usize, request: *mut c_void);
    alltoall "MPI_Alltoall"(from: *const c_void, sent: c_int, kind: usize, to: *mut c_void, received: c_int, kinds: usize, comm: usize);
    version "MPI_Get_library_version"(text: *mut c_char, length: *mut c_int);
}

/// A library of MPI.
#[derive(Debug)]
pub(super) struct Api {
    functions: Functions,
    world: usize,
    byte: usize,
    statuses_ignore: usize,
    /// Bytes of a request.
    request: usize,
    /// Its functions are valid while it is loaded.
    _library: Library,
}

impl Api {
    /// Loads the library of the launcher, or any.
    pub fn load() -> Result<Self> {
        let library = open()?;
        let address = |name: &[u8]| {
            // SAFETY: only the address is taken.
            let address = unsafe { library.get::<*mut c_void>(name).ok()?.try_as_raw_ptr() };
            address.map(|address| address as usize)
        };
        let open_mpi = (
            address(b"ompi_mpi_comm_world\0"),
            address(b"ompi_mpi_byte\0"),
        );
        let functions = Functions::load(&library)?;
        let (world, byte, statuses_ignore, request) = match open_mpi {
            (Some(world), Some(byte)) => (world, byte, 0, size_of::<usize>()),
            _ => {
                let request = size_of::<c_int>();
                (MPICH_WORLD, MPICH_BYTE, MPICH_STATUSES_IGNORE, request)
            }
        };
        Ok(Self {
            functions,
            world,
            byte,
            statuses_ignore,
            request,
            _library: library,
        })
    }

    pub fn version(&self) -> Result<String> {
        let mut text = vec![0 as c_char; VERSION_BYTES];
        let mut length = 0;
        // SAFETY: the buffer is long enough for any version; the function may be called before MPI starts.
        unsafe { self.functions.version(text.as_mut_ptr(), &mut length) }?;
        // SAFETY: MPI terminates it with a zero, and the last byte is zero in any case.
        let text = unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy();
        let first = text.lines().next().unwrap_or_default();
        let name = first.split(',').next().unwrap_or_default();
        Ok(name.trim().replace('\t', " "))
    }

    /// Fails if the library was built without support for device memory of a driver.
    pub fn check_driver(&self, driver: &str) -> Result<()> {
        let names: &[&[u8]] = match driver {
            "cuda" => &[b"MPIX_Query_cuda_support\0"],
            "hip" => &[b"MPIX_Query_hip_support\0", b"MPIX_Query_rocm_support\0"],
            _ => &[],
        };
        // SAFETY: these functions have no arguments and return a flag; they may be called once MPI has started.
        let says_so = |name: &&[u8]| unsafe {
            let query = self._library.get::<unsafe extern "C" fn() -> c_int>(*name);
            query.is_ok_and(|query| query() == 1)
        };
        if names.iter().any(says_so) {
            return Ok(());
        }
        let version = self.version()?;
        let reason = format!("{version} was not built to send memory of {driver} devices");
        Err(Error::Team(reason))
    }

    /// Starts MPI unless it was started before.
    pub fn start(&self) -> Result<()> {
        let (mut begun, mut level) = (0, 0);
        // SAFETY: all pointers are to variables, or null where MPI allows it.
        unsafe {
            self.functions.initialized(&mut begun)?;
            if begun != 0 {
                return Ok(());
            }
            let (none, nothing) = (std::ptr::null_mut(), std::ptr::null_mut());
            self.functions
                .init_thread(none, nothing, SERIALIZED, &mut level)
        }
    }

    /// Whether several threads may call, one at a time: another program may have started MPI for one thread alone.
    pub fn serves_threads(&self) -> bool {
        let mut level = 0;
        // SAFETY: a pointer to a variable.
        let known = unsafe { self.functions.query_thread(&mut level) };
        known.is_ok() && level >= SERIALIZED
    }

    fn is_started(&self) -> bool {
        let mut begun = 0;
        // SAFETY: a pointer to a variable.
        let known = unsafe { self.functions.initialized(&mut begun) };
        known.is_ok() && begun != 0
    }

    /// Ends MPI if it was started and not ended. Errors are ignored at this point.
    pub fn finish(&self) {
        let mut ended = 0;
        // SAFETY: a pointer to a variable; MPI is ended once, and only if it was started.
        unsafe {
            if self.is_started() && self.functions.finalized(&mut ended).is_ok() && ended == 0 {
                let _ = self.functions.finalize();
            }
        }
    }

    pub fn abort(&self, status: u8) {
        if self.is_started() {
            // SAFETY: MPI was started before it is aborted.
            let _ = unsafe { self.functions.abort(self.world, status.into()) };
        }
    }

    pub fn world(&self) -> Comm {
        Comm(self.world)
    }

    /// The communicator of a Fortran handle.
    pub fn of_fortran(&self, number: c_int) -> Result<Comm> {
        if self.request == size_of::<c_int>() {
            // MPICH's handles are these numbers.
            return Ok(Comm(number as u32 as usize));
        }
        // SAFETY: the type is that of the MPI standard.
        let convert = unsafe {
            let name = b"MPI_Comm_f2c\0";
            self._library
                .get::<unsafe extern "C" fn(c_int) -> usize>(name)
        };
        let convert =
            convert.map_err(|_| Error::Team("MPI: the library has no MPI_Comm_f2c".to_owned()))?;
        // SAFETY: MPI checks the number.
        Ok(Comm(unsafe { convert(number) }))
    }

    pub fn rank(&self, comm: Comm) -> Result<usize> {
        let mut rank = 0;
        // SAFETY: a communicator of this library, a pointer to a variable.
        unsafe { self.functions.comm_rank(comm.0, &mut rank) }?;
        Ok(rank as usize)
    }

    pub fn size(&self, comm: Comm) -> Result<usize> {
        let mut size = 0;
        // SAFETY: as above.
        unsafe { self.functions.comm_size(comm.0, &mut size) }?;
        Ok(size as usize)
    }

    pub fn split(&self, comm: Comm, colour: usize, rank: usize) -> Result<Comm> {
        // MPICH writes the lower half only.
        let mut part = 0;
        // SAFETY: as above.
        unsafe {
            self.functions
                .comm_split(comm.0, colour as c_int, rank as c_int, &mut part)
        }?;
        Ok(Comm(part))
    }

    /// The values of all ranks, one after the other; `all` is long enough for them.
    pub fn all_gather(&self, comm: Comm, own: &[f64], all: &mut [f64]) -> Result<()> {
        let bytes = size_of_val(own) as c_int;
        let (own, all) = (own.as_ptr().cast(), all.as_mut_ptr().cast());
        let (functions, kind) = (&self.functions, self.byte);
        // SAFETY: `all` is as long as `own` times the number of ranks.
        unsafe { functions.allgather(own, bytes, kind, all, bytes, kind, comm.0) }
    }

    /// Sends one number to every rank, and receives one from each.
    pub fn all_to_all(&self, comm: Comm, sent: &[u64], received: &mut [u64]) -> Result<()> {
        let bytes = size_of::<u64>() as c_int;
        let (sent, received) = (sent.as_ptr().cast(), received.as_mut_ptr().cast());
        let (functions, kind) = (&self.functions, self.byte);
        // SAFETY: both have a number for every rank.
        unsafe { functions.alltoall(sent, bytes, kind, received, bytes, kind, comm.0) }
    }
}

/// Messages in transit.
#[derive(Debug)]
pub(super) struct Requests {
    api: &'static Api,
    /// The requests as the library stores them, in words that are aligned for both forms.
    stored: Vec<usize>,
    count: usize,
}

impl Requests {
    pub fn new(api: &'static Api) -> Self {
        Self {
            api,
            stored: Vec::new(),
            count: 0,
        }
    }

    /// Memory for one more request. MPI allows that requests are moved.
    fn next(&mut self) -> *mut c_void {
        let place = self.count * self.api.request;
        self.count += 1;
        let words = (self.count * self.api.request).div_ceil(size_of::<usize>());
        self.stored.resize(words.max(self.stored.len()), 0);
        // SAFETY: the words contain it.
        unsafe { self.stored.as_mut_ptr().byte_add(place).cast() }
    }

    /// Begins to send.
    ///
    /// # Safety
    /// The span is memory that MPI may read until [`wait`](Self::wait) has returned; nobody writes to it.
    pub unsafe fn send(&mut self, comm: Comm, span: Span) -> Result<()> {
        let (request, api) = (self.next(), self.api);
        let (count, rank) = (span.bytes as c_int, span.rank as c_int);
        let from = span.address as *const c_void;
        // SAFETY: the conditions of this function.
        unsafe {
            let functions = &api.functions;
            functions.isend(from, count, api.byte, rank, TAG, comm.0, request)
        }
    }

    /// Begins to receive.
    ///
    /// # Safety
    /// The span is memory that only MPI accesses until [`wait`](Self::wait) has returned.
    pub unsafe fn receive(&mut self, comm: Comm, span: Span) -> Result<()> {
        let (request, api) = (self.next(), self.api);
        let (count, rank) = (span.bytes as c_int, span.rank as c_int);
        let to = span.address as *mut c_void;
        // SAFETY: the conditions of this function.
        unsafe {
            let functions = &api.functions;
            functions.irecv(to, count, api.byte, rank, TAG, comm.0, request)
        }
    }

    /// Begins to gather the values of all ranks, as [`Api::all_gather`]; both arrays must not move until
    /// [`wait`](Self::wait) has returned.
    pub fn all_gather(&mut self, comm: Comm, own: &[f64], all: &mut [f64]) -> Result<()> {
        let (request, api) = (self.next(), self.api);
        let bytes = size_of_val(own) as c_int;
        let (own, all) = (own.as_ptr().cast(), all.as_mut_ptr().cast());
        // SAFETY: `all` is as long as `own` times the number of ranks; the caller waits before they are accessed.
        unsafe {
            let (functions, kind) = (&api.functions, api.byte);
            functions.iallgather(own, bytes, kind, all, bytes, kind, comm.0, request)
        }
    }

    /// Waits until all have arrived.
    pub fn wait(&mut self) -> Result<()> {
        let (count, requests) = (self.count as c_int, self.stored.as_mut_ptr().cast());
        self.count = 0;
        // SAFETY: this is the number of requests.
        unsafe {
            let functions = &self.api.functions;
            functions.waitall(count, requests, self.api.statuses_ignore)
        }
    }
}

/// Opens the library that `VCYCLE_MPI` names, or the first of the usual ones, that of the launcher before others.
fn open() -> Result<Library> {
    const OPEN_MPI: [&str; 2] = ["libmpi.so.40", "libmpi.dylib"];
    const MPICH: [&str; 3] = ["libmpich.so.12", "libmpi.so.12", "libmpich.so"];
    let named = std::env::var_os("VCYCLE_MPI").map(PathBuf::from);
    let mut names: Vec<PathBuf> = OPEN_MPI.iter().chain(&MPICH).map(PathBuf::from).collect();
    let is_mpich = std::env::var_os("PMI_RANK").is_some() || std::env::var_os("PMI_SIZE").is_some();
    if is_mpich && std::env::var_os("OMPI_COMM_WORLD_SIZE").is_none() {
        names.rotate_left(OPEN_MPI.len());
    }
    let names = named.map_or(names, |name| vec![name]);
    let mut reasons = Vec::new();
    for name in names {
        match load(&name) {
            Ok(library) => return Ok(library),
            Err(error) => reasons.push(error.to_string()),
        }
    }
    Err(Error::Team(format!(
        "no library of MPI was found; install Open MPI or MPICH, or name the file in VCYCLE_MPI ({})",
        reasons.join("; ")
    )))
}

/// Loads a library so that its own plug-ins find its symbols: those of Open MPI require that.
#[cfg(unix)]
fn load(name: &Path) -> std::result::Result<Library, libloading::Error> {
    use libloading::os::unix::{self, RTLD_GLOBAL, RTLD_NOW};
    // SAFETY: loading a library of MPI has no side effects that matter.
    unsafe { unix::Library::open(Some(name), RTLD_NOW | RTLD_GLOBAL) }.map(Library::from)
}

#[cfg(not(unix))]
fn load(name: &Path) -> std::result::Result<Library, libloading::Error> {
    // SAFETY: loading a library of MPI has no side effects that matter.
    unsafe { Library::new(name) }
}
