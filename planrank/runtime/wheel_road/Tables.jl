"Stand-in for the registered package of this name: PythonCall only names its functions."
module Tables

function istable end
function columnaccess end
function columns end
function rowaccess end
function rows end
function columnnames end
function getcolumn end
function schema end
function materializer end

end
