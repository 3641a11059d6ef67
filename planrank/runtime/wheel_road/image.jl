# Run with --output-o: makes a system image that holds PythonCall, PlanRank and their compiled code.
# Arguments: the folder of the bridge's project, the folder of PlanRank's Project.toml, the recorded statements.
#
# The image this runs in carries an unrelated optimisation package and all that it needs. That stays inside, but is
# neither compiled again (which would take most of the time) nor initialised.

const BRIDGE_PROJECT, PLANRANK_PROJECT, STATEMENTS = ARGS

const WANTED = Set(["Core", "Base", "Main", "Libdl", "Pkg", "Random", "Requires", "Dates", "Printf", "TOML", "UUIDs",
                    "Unicode", "Serialization", "Logging", "MacroTools", "SHA", "Artifacts"])

isunwanted(m::Module) = !(string(nameof(Base.moduleroot(m))) in WANTED)

"Whether a type names something of an unwanted module anywhere in its parameters."
function isunwanted(@nospecialize(t))
    t isa DataType && return isunwanted(t.name.module) || any(isunwanted, t.parameters)
    t isa UnionAll && return isunwanted(t.var.ub) || isunwanted(t.body)
    t isa Union && return isunwanted(t.a) || isunwanted(t.b)
    return false
end

eachvalue(m::Module) = (getfield(m, n) for n in names(m; all = true) if isdefined(m, n) && !Base.isdeprecated(m, n))

function silence(m::Module)
    isdefined(m, :__init__) && Core.eval(m, :(__init__() = nothing))
    for inner in eachvalue(m)
        inner isa Module && inner !== m && parentmodule(inner) === m && silence(inner)
    end
end

methodtable(f::Function) = typeof(f).name.mt
methodtable(t::Type) = (d = Base.unwrap_unionall(t); d isa DataType && isdefined(d.name, :mt) ? d.name.mt : nothing)
methodtable(_) = nothing

const CACHE_OFFSET = fieldoffset(Core.MethodInstance, findfirst(==(:cache), fieldnames(Core.MethodInstance)))

"Forget the machine code of a method instance, so that the new image does not compile it again."
forget(mi::Core.MethodInstance) = unsafe_store!(Ptr{Ptr{Cvoid}}(pointer_from_objref(mi) + CACHE_OFFSET), C_NULL)

function forget_unwanted(m::Method)
    unwanted = isunwanted(m.module)
    for i in 1:length(m.specializations)
        isassigned(m.specializations, i) || continue
        mi = m.specializations[i]
        mi isa Core.MethodInstance && (unwanted || isunwanted(mi.specTypes)) && forget(mi)
    end
end

function forget_unwanted(m::Module, seen = Base.IdSet{Any}())
    m in seen && return
    push!(seen, m)
    for x in eachvalue(m)
        x isa Module && forget_unwanted(x, seen)
        table = methodtable(x)
        (table === nothing || table in seen) && continue
        push!(seen, table)
        Base.visit(method -> method isa Method && forget_unwanted(method), table)
    end
end

"Compile what was recorded. A line may name something that exists only in the run it comes from; it is passed over."
function run_statements(file)
    scratch = Module()
    for (id, m) in Base.loaded_modules
        Core.eval(scratch, :(const $(Symbol(id.name)) = $m))
    end
    for line in eachline(file)
        try
            Core.eval(scratch, Meta.parse(line))
        catch
        end
    end
end

Base.reinit_stdio()
Base.eval(Sys, :(BINDIR = $(dirname(unsafe_string(Base.JLOptions().julia_bin)))))
Base.eval(Sys, :(STDLIB = $(joinpath(dirname(Sys.BINDIR), "share", "julia", "stdlib", "v1.6"))))
Base.init_depot_path()
append!(empty!(LOAD_PATH), [BRIDGE_PROJECT, PLANRANK_PROJECT, "@stdlib"])

for m in collect(values(Base.loaded_modules))
    isunwanted(m) && silence(m)
    forget_unwanted(m)
end

using PythonHandle
using PythonCall
using PlanRank

run_statements(STATEMENTS)

empty!(LOAD_PATH)
empty!(DEPOT_PATH)
