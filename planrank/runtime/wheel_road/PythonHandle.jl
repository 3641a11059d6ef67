"""
Loaded before PythonCall into the system image. Initialisers run in load order, so PythonCall's finds here which
Python it lives in; juliacall says so only after Julia has started, which is too late for an image.
"""
module PythonHandle

import Libdl

function __init__()
    handle = ccall(:dlopen, Ptr{Cvoid}, (Ptr{Cvoid}, Cint), C_NULL, Libdl.RTLD_LAZY | Libdl.RTLD_GLOBAL)
    initialized = Libdl.dlsym(handle, :Py_IsInitialized; throw_error = false)
    initialized === nothing && return
    ccall(initialized, Cint, ()) == 0 && return
    Core.eval(Main, :(__PythonCall_libptr = $handle))
end

end
