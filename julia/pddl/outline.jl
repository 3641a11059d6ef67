# What a file is, without parsing it: quick, and content with whatever it finds.

"""
(kind, objects) of a PDDL text. The kind is "domain", "problem" or, if the text does not begin like either, empty. The
second is how many names a problem declares in `(:objects …)`. A text with errors is looked at up to the first
one that keeps its tokens from being read.
"""
function outline_of(text::String, limits::Limits=Limits())
    t = Tokens(text, "", limits)
    try
        read_tokens!(t)
    catch e
        e isa PlanRankError && e.kind === :syntax || rethrow()
    end
    kind = defined_kind(t)
    kind, kind == "problem" ? count_objects(t) : 0
end

function defined_kind(t::Tokens)
    length(t) >= 4 && isopen(t, 1) && word(t, 2) == "define" && isopen(t, 3) || return ""
    word(t, 4) in ("domain", "problem") ? word(t, 4) : ""
end

"Depths are counted here, because in a text with errors parentheses may have no partner."
function count_objects(t::Tokens)
    section = findfirst(i -> (tick!(t); isopen(t, i)) && word(t, i + 1) == ":objects", 1:length(t)-1)
    section === nothing && return 0
    objects, depth, after_dash = 0, 1, false
    for i in section+2:length(t)
        tick!(t)
        if isopen(t, i)
            depth += 1
        elseif t.symbol[i] == CLOSE
            depth -= 1
            depth == 0 && break
            depth == 1 && (after_dash = false)      # the end of '(either …)'
        elseif depth == 1
            is_dash = word(t, i) == "-"
            objects += !is_dash && !after_dash
            after_dash = is_dash
        end
    end
    objects
end
