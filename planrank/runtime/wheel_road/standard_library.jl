# The wheel has no standard-library folder, though all of it is in the image. Loading by name looks for a folder with
# the right uuid and then takes the module that is already there, so an empty one will do.
for id in keys(Base.loaded_modules)
    id.uuid === nothing && continue
    folder = joinpath(ARGS[1], id.name)
    mkpath(joinpath(folder, "src"))
    write(joinpath(folder, "Project.toml"), "name = \"$(id.name)\"\nuuid = \"$(id.uuid)\"\n")
    write(joinpath(folder, "src", "$(id.name).jl"), "module $(id.name)\nend\n")
end
