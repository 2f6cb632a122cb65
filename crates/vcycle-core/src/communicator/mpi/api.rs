//! The functions of MPI that are used, and the two forms their handles have.
//!
//! Open MPI's handles are addresses of variables in its library, MPICH's are numbers of 32 bits. Both go into a register
//! as 64 bits, of which MPICH reads the lower half; only arrays of requests differ.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

use libloading::Library;

use super::library::open;
use crate::error::{Error, Result};
use crate::kept::kept;

/// A communicator as the library knows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Comm(pub(super) usize);

/// Several threads may call, one at a time.
const SERIALIZED: c_int = 2;

/// Constants of MPICH's interface, which libraries derived from it share.
const MPICH_WORLD: usize = 0x4400_0000;
const MPICH_BYTE: usize = 0x4c00_010d;
const MPICH_STATUSES_IGNORE: usize = 1;

/// Bytes of the longest version text: `MPI_MAX_LIBRARY_VERSION_STRING` of MPICH.
const VERSION_BYTES: usize = 8192;

/// What MPI calls where a communicator with an attribute is duplicated, and where it is freed.
type CopyAttribute = unsafe extern "C" fn(
    comm: usize,
    key: c_int,
    extra: *mut c_void,
    from: *mut c_void,
    to: *mut c_void,
    flag: *mut c_int,
) -> c_int;
type DeleteAttribute =
    unsafe extern "C" fn(comm: usize, key: c_int, value: *mut c_void, extra: *mut c_void) -> c_int;

macro_rules! functions {
    ($($field:ident $name:literal ($($argument:ident: $type:ty),*);)*) => {
        /// The functions, by their names in lower case.
        #[derive(Debug)]
        pub(super) struct Functions {
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
                pub(super) unsafe fn $field(&self, $($argument: $type),*) -> Result<()> {
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
    ialltoall "MPI_Ialltoall"(from: *const c_void, sent: c_int, kind: usize, to: *mut c_void, received: c_int, kinds: usize, comm: usize, request: *mut c_void);
    testall "MPI_Testall"(count: c_int, requests: *mut c_void, flag: *mut c_int, statuses: usize);
    comm_free "MPI_Comm_free"(comm: *mut usize);
    create_keyval "MPI_Comm_create_keyval"(copy: CopyAttribute, delete: DeleteAttribute, key: *mut c_int, extra: *mut c_void);
    set_attribute "MPI_Comm_set_attr"(comm: usize, key: c_int, value: *mut c_void);
    get_attribute "MPI_Comm_get_attr"(comm: usize, key: c_int, value: *mut *mut c_void, flag: *mut c_int);
    version "MPI_Get_library_version"(text: *mut c_char, length: *mut c_int);
}

/// A library of MPI.
#[derive(Debug)]
pub(super) struct Api {
    pub(super) functions: Functions,
    world: usize,
    pub(super) byte: usize,
    pub(super) statuses_ignore: usize,
    /// Bytes of a request.
    pub(super) request: usize,
    /// The key of what is kept with communicators.
    key: OnceLock<c_int>,
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
            key: OnceLock::new(),
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

    /// Ends all ranks with a message.
    pub fn give_up(&self, reason: &str) {
        eprintln!("error: {reason}");
        self.abort(1);
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

    /// Frees a communicator that [`split`](Self::split) has made, unless MPI has ended. MPI has all ranks call it, but neither Open MPI nor
    /// MPICH waits for them.
    pub fn free(&self, comm: Comm) {
        let (mut ended, mut handle) = (0, comm.0);
        // SAFETY: pointers to variables; a communicator of this library that is not used any more.
        unsafe {
            if self.functions.finalized(&mut ended).is_ok() && ended == 0 {
                let _ = self.functions.comm_free(&mut handle);
            }
        }
    }

    /// What was [kept](Self::keep) with a communicator.
    pub fn kept<K: Clone>(&self, comm: Comm) -> Result<Option<K>> {
        let (mut value, mut found) = (std::ptr::null_mut::<c_void>(), 0);
        let key = self.key::<K>()?;
        // SAFETY: a communicator and a key of this library, pointers to variables.
        unsafe {
            self.functions
                .get_attribute(comm.0, key, &mut value, &mut found)
        }?;
        // SAFETY: `keep` has stored it, and it is there until MPI frees the communicator.
        Ok((found != 0).then(|| unsafe { (*value.cast::<K>()).clone() }))
    }

    /// Keeps a value with a communicator until that is freed.
    pub fn keep<K: Clone>(&self, comm: Comm, value: K) -> Result<()> {
        let value = Box::into_raw(Box::new(value)).cast();
        // SAFETY: as above; MPI passes the value to `forget` alone.
        unsafe {
            self.functions
                .set_attribute(comm.0, self.key::<K>()?, value)
        }
    }

    /// The key of what is kept with communicators, which is of one type.
    fn key<K>(&self) -> Result<c_int> {
        let make = || {
            let (mut key, none, functions) = (0, std::ptr::null_mut(), &self.functions);
            // SAFETY: a pointer to a variable, and functions of the types that MPI asks for.
            unsafe { functions.create_keyval(not_copied, forget::<K>, &mut key, none) }?;
            Ok(key)
        };
        kept(&self.key, make).copied()
    }
}

/// A duplicate of a communicator does not get what is kept with it.
unsafe extern "C" fn not_copied(
    _comm: usize,
    _key: c_int,
    _extra: *mut c_void,
    _from: *mut c_void,
    _to: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: MPI passes a pointer to a variable.
    unsafe { *flag = 0 };
    0
}

unsafe extern "C" fn forget<K>(
    _comm: usize,
    _key: c_int,
    value: *mut c_void,
    _extra: *mut c_void,
) -> c_int {
    // SAFETY: `Api::keep` has stored a box of this type, and MPI calls this once.
    drop(unsafe { Box::from_raw(value.cast::<K>()) });
    0
}
