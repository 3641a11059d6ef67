"Stand-in for the registered package of this name: Python is there already, so there is nothing to install."
module CondaPkg

backend() = :Null

end
