# Declarations: typed lists, objects, predicates and functions, and the names a text may use.

"""
Everything needed to give the names of a text their meaning. `variable_of` gives for each word of the text the variable
it stands for at the moment, or 0; `scope` pairs the words of the variables in scope, innermost last, with what
they stood for before.
"""
struct Reader
    tokens::Tokens
    types::TypeTree
    type_number::Dict{String,Int32}
    objects::Vector{Variable}
    object_number::Dict{String,Int32}
    predicates::Vector{Predicate}
    predicate_number::Dict{String,Int32}
    functions::Vector{Predicate}
    function_number::Dict{String,Int32}
    variables::Vector{Variable}
    variable_of::Vector{Int32}
    scope::Vector{Tuple{Int32,Int32}}
end

function Reader(tokens::Tokens, types::TypeTree, objects, predicates, functions)
    numbering(names) = Dict{String,Int32}((tick!(tokens); name => i) for (i, name) in enumerate(names))
    Reader(tokens, types, numbering(types.names), objects, numbering(o.name for o in objects),
           predicates, numbering(p.name for p in predicates), functions, numbering(f.name for f in functions),
           Variable[], zeros(Int32, length(tokens.words)), Tuple{Int32,Int32}[])
end

"""
The items of a typed list as pairs: the token of the name and the tokens of its types (none written: none).
`from` and `to` are the first and last token of the list's inside.
"""
function typed_items(t::Tokens, from::Integer, to::Integer)
    items = Tuple{Int,Vector{Int}}[]
    waiting = Int[]
    i = Int(from)
    while i <= to
        tick!(t)
        if isword(t, i) && word(t, i) == "-"
            i + 1 <= to || fail(t, i, :syntax, "found nothing after '-', expected a type")
            types = type_tokens(t, i + 1)
            for item in waiting
                tick!(t)
                push_within!(t.ticker, items, (item, types))
            end
            empty!(waiting)
            i = skip_expression(t, i + 1)
        else
            push_within!(t.ticker, waiting, i)
            i = skip_expression(t, i)
        end
    end
    untyped = Int[]
    for item in waiting
        tick!(t)
        push_within!(t.ticker, items, (item, untyped))
    end
    items
end

function type_tokens(t::Tokens, i::Int)
    isword(t, i) && return [i]
    head(t, i) == "either" || fail_expected(t, i, "a type or '(either …)'")
    types = children(t, i, 2)
    isempty(types) && fail(t, i, :syntax, "found an empty '(either)', expected at least one type")
    for type in types
        isword(t, type) || fail_expected(t, type, "a type")
    end
    types
end

plain_name(t::Tokens, i::Integer, what::String) =
    isword(t, i) && !startswith(word(t, i), "?") && !startswith(word(t, i), ":") && word(t, i) != "-" ? word(t, i) :
        fail_expected(t, i, what)

function resolve_types(r::Reader, tokens::Vector{Int})
    isempty(tokens) && return Int32[1]
    map(tokens) do i
        tick!(r.tokens)
        get(r.type_number, word(r.tokens, i)) do
            fail(r.tokens, i, :meaning, "unknown type $(quoted(r.tokens, i)), expected a type declared in :types")
        end
    end
end

"What the types of a typed list mean. Items that share their types in the text share them here too."
mutable struct SharedTypes
    tokens::Vector{Int}
    types::Vector{Int32}
end

SharedTypes() = SharedTypes(Int[], Int32[])

function resolve_types!(shared::SharedTypes, r::Reader, tokens::Vector{Int})
    if shared.tokens !== tokens
        shared.types = resolve_types(r, tokens)
        shared.tokens = tokens
    end
    shared.types
end

function declare_objects!(r::Reader, from::Integer, to::Integer)
    shared = SharedTypes()
    for (item, types) in typed_items(r.tokens, from, to)
        tick!(r.tokens)
        name = plain_name(r.tokens, item, "the name of an object")
        haskey(r.object_number, name) && fail(r.tokens, item, :meaning,
            "object '$(shorten(name))' is declared twice, expected distinct names")
        push_within!(r.tokens.ticker, r.objects, Variable(name, resolve_types!(shared, r, types)))
        r.object_number[name] = length(r.objects)
    end
end

"The variables of a parameter list, whose inside runs from token `from` to token `to`."
function variable_list(r::Reader, from::Integer, to::Integer; distinct::Bool=true)
    variables = Variable[]
    tokens = Int[]
    met = Set{Int32}()
    shared = SharedTypes()
    for (item, types) in typed_items(r.tokens, from, to)
        tick!(r.tokens)
        isword(r.tokens, item) && startswith(word(r.tokens, item), "?") ||
            fail_expected(r.tokens, item, "a variable such as '?x'")
        name = word(r.tokens, item)
        distinct && r.tokens.symbol[item] in met && fail(r.tokens, item, :meaning,
            "variable '$(shorten(name))' is declared twice in one list, expected distinct names")
        push!(met, r.tokens.symbol[item])
        push!(variables, Variable(name, resolve_types!(shared, r, types)))
        push!(tokens, item)
    end
    variables, tokens
end

const RESERVED = Set(["and", "or", "not", "imply", "forall", "exists", "when", "=", "<", ">", "<=", ">=",
                      "increase", "decrease", "assign", "scale-up", "scale-down", "preference"])

function declare_predicate!(r::Reader, i::Int, list::Vector{Predicate}, number::Dict{String,Int32}, what::String)
    t = r.tokens
    isopen(t, i) || fail_expected(t, i, "the declaration of a $what such as '(name ?x ?y)'")
    i + 1 < t.partner[i] || fail(t, i, :syntax, "found '()', expected the declaration of a $what")
    name = plain_name(t, i + 1, "the name of a $what")
    name in RESERVED && fail(t, i + 1, :meaning, "'$name' is a word of PDDL, expected another name for a $what")
    haskey(number, name) &&
        fail(t, i + 1, :meaning, "$what '$(shorten(name))' is declared twice, expected distinct names")
    parameters, _ = variable_list(r, i + 2, t.partner[i] - 1; distinct=false)     # their names do not matter
    push!(list, Predicate(name, parameters))
    number[name] = length(list)
end

function declare_predicates!(r::Reader, section::Int)
    for i in children(r.tokens, section, 2)
        declare_predicate!(r, i, r.predicates, r.predicate_number, "predicate")
    end
end

function declare_functions!(r::Reader, section::Int)
    for (item, types) in typed_items(r.tokens, section + 2, r.tokens.partner[section] - 1)
        for type in types
            word(r.tokens, type) == "number" || fail(r.tokens, type, :unsupported, string("functions with values of ",
                "type ", quoted(r.tokens, type), " (object fluents) are not supported, expected 'number'"))
        end
        declare_predicate!(r, item, r.functions, r.function_number, "function")
    end
end

"The object or variable that token `i` names."
function resolve_term(r::Reader, i::Integer)::Term
    t = r.tokens
    isword(t, i) || fail_expected(t, i, "an object or a variable")
    symbol = t.symbol[i]
    if startswith(t.words[symbol], "?")
        variable = r.variable_of[symbol]
        variable == 0 || return variable
        fail(t, i, :meaning, "unknown variable $(quoted(t, i)), expected a parameter or a quantified variable")
    end
    object = get(r.object_number, t.words[symbol], Int32(0))
    object == 0 && fail(t, i, :meaning, "unknown object $(quoted(t, i)), expected a declared object or constant")
    -object
end

function check_argument_type(r::Reader, i::Integer, term::Term, declared::Predicate, position::Integer)
    wanted = declared.parameters[position].types
    if term > 0
        overlap(r.types, r.variables[term].types, wanted) && return
        types = r.variables[term].types
    else
        types = r.objects[-term].types
        is_one_of(r.types, types, wanted) && return
    end
    fail(r.tokens, i, :meaning, string(quoted(r.tokens, i), " is of type ", shorten(type_names(r.types, types)),
        ", expected ", shorten(type_names(r.types, wanted)), " as argument ", position, " of '", shorten(declared.name),
        "'"))
end

"Arguments of the atom or function term that opens at `i`, checked against its declaration."
function resolve_arguments(r::Reader, i::Integer, declared::Predicate)
    t = r.tokens
    terms = Term[]
    for child in children(t, i, 2)
        push!(terms, resolve_term(r, child))
        length(terms) <= length(declared.parameters) &&
            check_argument_type(r, child, terms[end], declared, length(terms))
    end
    length(terms) == length(declared.parameters) || fail(t, i, :meaning, string("'", shorten(declared.name), "' has ",
        length(terms), " arguments here, expected ", length(declared.parameters)))
    terms
end
