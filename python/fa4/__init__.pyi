from fa4 import cache as cache, errors as errors, math as math, reference as reference
from fa4.arrays import Results as Results
from fa4.errors import (
    CacheWarning as CacheWarning,
    CompileError as CompileError,
    CompileWarning as CompileWarning,
    Fa4Error as Fa4Error,
    LaunchError as LaunchError,
    LibraryNotFoundError as LibraryNotFoundError,
    SimulationError as SimulationError,
    TraceError as TraceError,
)
from fa4.kernel import Kernel as Kernel, Time as Time, compile as compile
from fa4.torch import flex as flex
from fa4.spec import Mask as Mask, Spec as Spec, SpecError as SpecError, sdpa as sdpa, sdpa_backward as sdpa_backward

__version__: str
