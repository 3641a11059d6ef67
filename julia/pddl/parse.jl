# Domain and problem files, section by section. Sections may come in any order.

const REFUSED_SECTIONS = Dict(
    ":durative-action" => "durative actions", ":derived" => "derived predicates (axioms)",
    ":axiom" => "derived predicates (axioms)", ":constraints" => "trajectory constraints", ":process" => "processes",
    ":event" => "events")

const REQUIREMENTS = Set([
    ":strips", ":typing", ":equality", ":negation", ":negative-preconditions", ":action-costs",
    ":disjunctive-preconditions", ":existential-preconditions", ":universal-preconditions",
    ":quantified-preconditions", ":conditional-effects", ":adl"])
# Files name these without using them; what is not supported is refused where it is used.
const UNUSED_REQUIREMENTS = Set([
    ":fluents", ":numeric-fluents", ":object-fluents", ":goal-utilities", ":durative-actions", ":duration-inequalities",
    ":continuous-effects", ":derived-predicates", ":timed-initial-literals", ":timed-initial-effects", ":preferences",
    ":constraints", ":time", ":domain-axioms", ":action-expansions", ":safety-constraints", ":expression-evaluation",
    ":open-world", ":true-negation", ":ucpop", ":universal-effects", ":existential-effects"])

"Checks '(define (what name) …)' around the whole file; gives the name and the tokens where its sections open."
function open_definition(t::Tokens, what::String)
    isopen(t, 1) || fail_expected(t, 1, "'(define (… …) …)'")
    parts = children(t, 1)
    (!isempty(parts) && word(t, parts[1]) == "define") ||
        fail(t, 1, :syntax, "found $(quoted(t, 1)), expected '(define …)'")
    after = Int(t.partner[1]) + 1
    after <= length(t) &&
        fail(t, after, :syntax, "found $(quoted(t, after)) after the definition, expected the end of the file")
    length(parts) >= 2 || fail(t, 1, :syntax, "found an empty definition, expected '($what name)' after 'define'")
    title = parts[2]
    other = what == "domain" ? "problem" : "domain"
    head(t, title) == other &&
        fail(t, title, :syntax, "found a $other file, expected a $what: '(define ($what name) …)'")
    head(t, title) == what || fail_expected(t, title, "'($what name)'")
    t.partner[title] == title + 3 && isword(t, title + 2) ||
        fail(t, title, :syntax, "'$what' has another form here, expected '($what name)'")
    sections = parts[3:end]
    for s in sections
        isopen(t, s) && startswith(head(t, s), ":") ||
            fail_expected(t, s, "a section such as '(:$(what == "domain" ? "action" : "init") …)'")
        haskey(REFUSED_SECTIONS, head(t, s)) &&
            fail(t, s, :unsupported, "$(REFUSED_SECTIONS[head(t, s)]) are not supported")
    end
    word(t, title + 2), sections
end

"The only section called `name`, or 0."
function only_section(t::Tokens, sections::Vector{Int}, name::String)
    found = filter(s -> head(t, s) == name, sections)
    length(found) > 1 && fail(t, found[2], :meaning, "found a second '$name' section, expected only one")
    isempty(found) ? 0 : found[1]
end

function check_sections(t::Tokens, sections::Vector{Int}, known)
    for s in sections
        head(t, s) in known ||
            fail(t, s, :syntax, "found section $(quoted(t, s)), expected one of $(join(known, ", "))")
    end
end

function check_requirements(t::Tokens, section::Int)
    section == 0 && return
    for i in children(t, section, 2)
        name = word(t, i)
        startswith(name, ":") || fail_expected(t, i, "a requirement such as ':strips'")
        name in REQUIREMENTS || name in UNUSED_REQUIREMENTS ||
            fail(t, i, :unsupported, "requirement $(quoted(t, i)) is not supported")
    end
end

const DOMAIN_SECTIONS = (":requirements", ":types", ":constants", ":predicates", ":functions", ":action")

function parse_domain(text::String, file::String, limits::Limits=Limits())::Domain
    t = tokenise(text, file, limits)
    name, sections = open_definition(t, "domain")
    check_sections(t, sections, DOMAIN_SECTIONS)
    section(s) = only_section(t, sections, s)
    check_requirements(t, section(":requirements"))
    s = section(":types")
    types = s == 0 ? TypeTree() : read_types(t, s + 2, t.partner[s] - 1)
    r = Reader(t, types, Variable[], Predicate[], Predicate[])
    s = section(":constants")
    s == 0 || declare_objects!(r, s + 2, t.partner[s] - 1)
    s = section(":predicates")
    s == 0 || declare_predicates!(r, s)
    s = section(":functions")
    s == 0 || declare_functions!(r, s)
    actions = Action[]
    names = Set{String}()
    for s in sections
        tick!(t)
        head(t, s) == ":action" || continue
        action = parse_action(r, s)
        action.name in names &&
            fail(t, s + 2, :meaning, "action '$(shorten(action.name))' is declared twice, expected distinct names")
        push!(names, action.name)
        push!(actions, action)
    end
    Domain(name, file, types, r.objects, r.predicates, r.functions, actions)
end

function parse_action(r::Reader, section::Int)
    t = r.tokens
    fields = children(t, section, 2)
    isempty(fields) && fail(t, section, :syntax, "found '(:action)', expected the action's name")
    name = plain_name(t, fields[1], "the name of an action")
    place = Dict{String,Int}()
    for k in 2:2:length(fields)
        key = word(t, fields[k])
        key in (":duration", ":condition") &&
            fail(t, fields[k], :unsupported, "durative actions ('$key') are not supported")
        key in (":parameters", ":precondition", ":effect") ||
            fail_expected(t, fields[k], "':parameters', ':precondition' or ':effect' of action '$(shorten(name))'")
        haskey(place, key) &&
            fail(t, fields[k], :meaning, "found a second '$key' of action '$(shorten(name))', expected only one")
        k < length(fields) || fail(t, fields[k], :syntax, "found nothing after '$key', expected a list in parentheses")
        place[key] = fields[k+1]
    end
    empty!(r.variables)
    parameters = haskey(place, ":parameters") ? open_scope!(r, place[":parameters"]) : Int32[]
    precondition = haskey(place, ":precondition") ? parse_formula(r, place[":precondition"]) : Formula(:and, Formula[])
    costs = CostTerm[]
    effect = haskey(place, ":effect") ? parse_effect(r, place[":effect"], costs) : Effect(:and, Effect[])
    close_scope!(r, parameters)
    Action(name, length(parameters), copy(r.variables), precondition, effect, isempty(costs) ? NO_COST : costs[1])
end

const PROBLEM_SECTIONS = (":domain", ":requirements", ":objects", ":init", ":goal", ":metric", ":length")

function parse_problem(text::String, file::String, domain::Domain, limits::Limits=Limits())::Problem
    t = tokenise(text, file, limits)
    name, sections = open_definition(t, "problem")
    check_sections(t, sections, PROBLEM_SECTIONS)
    section(s) = only_section(t, sections, s)
    s = section(":domain")
    s == 0 && fail(t, 1, :syntax, "found no '(:domain …)', expected '(:domain $(shorten(domain.name)))'")
    t.partner[s] == s + 3 && isword(t, s + 2) ||
        fail(t, s, :syntax, "':domain' has another form here, expected '(:domain name)'")
    word(t, s + 2) == domain.name || fail(t, s + 2, :meaning,
        "problem for the domain $(quoted(t, s + 2)), expected '$(shorten(domain.name))', the domain given")
    check_requirements(t, section(":requirements"))
    r = Reader(t, domain.types, copy(domain.constants), domain.predicates, domain.functions)
    s = section(":objects")
    s == 0 || declare_objects!(r, s + 2, t.partner[s] - 1)
    s = section(":init")
    s == 0 && fail(t, 1, :syntax, "found no '(:init …)', expected the initial state")
    init, values, value = parse_init(r, s)
    s = section(":goal")
    s == 0 && fail(t, 1, :syntax, "found no '(:goal …)', expected the goal")
    parts = children(t, s, 2)
    expect_parts(t, s, parts, 1)
    goal = parse_formula(r, parts[1])
    metric = parse_metric(t, section(":metric"))
    Problem(name, file, domain.name, r.objects, init, values, value, goal, r.variables, metric)
end

function parse_metric(t::Tokens, section::Int)
    section == 0 && return false
    parts = children(t, section, 2)
    expect_parts(t, section, parts, 2)
    word(t, parts[1]) == "minimize" && is_total_cost(t, parts[2]) || fail(t, section, :unsupported,
        string("metric '", shorten(word(t, parts[1])), "' of ", quoted(t, parts[2]), " is not supported, expected ",
            "'minimize (total-cost)'"))
    true
end

"Initial atoms, and the values of functions. There may be very many, so plain atoms are dealt with first."
function parse_init(r::Reader, section::Int)
    t = r.tokens
    object_of = Int32[(tick!(t); get(r.object_number, w, Int32(0))) for w in t.words]
    predicate_of = Int32[(tick!(t); get(r.predicate_number, w, Int32(0))) for w in t.words]
    init, values, value = InitialAtoms(), InitialAtoms(), Decimal[]
    negated = Tuple{Int,Int}[]
    last = t.partner[section]
    i = section + 2
    while i < last
        tick!(t)
        isopen(t, i) || fail_expected(t, i, "an atom in parentheses")
        predicate = isword(t, i + 1) ? predicate_of[t.symbol[i+1]] : Int32(0)
        if predicate != 0
            push_atom!(r, i, init, predicate, r.predicates[predicate], object_of)
        elseif head(t, i) == "="
            push_value!(r, i, values, value, object_of)
        elseif head(t, i) == "not"
            parts = children(t, i, 2)
            expect_parts(t, i, parts, 1)
            isopen(t, parts[1]) && isword(t, parts[1] + 1) && predicate_of[t.symbol[parts[1]+1]] != 0 ||
                fail_expected(t, parts[1], "an atom with a declared predicate")
            push!(negated, (i, parts[1]))
        else
            refuse_timed(t, i)
            isword(t, i + 1) || fail_expected(t, i, "an atom with a declared predicate")
            refuse_head(r, i)
        end
        i = Int(t.partner[i]) + 1
    end
    isempty(negated) || check_negated(r, negated, init, predicate_of, object_of)
    init, values, value
end

function push_atom!(r::Reader, i::Int, atoms::InitialAtoms, number::Int32, declared::Predicate,
    object_of::Vector{Int32})
    t = r.tokens
    arity = length(declared.parameters)
    good = t.partner[i] == i + arity + 2
    if good
        for k in 1:arity
            symbol = t.symbol[i+1+k]
            object = symbol > 0 ? object_of[symbol] : Int32(0)
            if object == 0 || !is_one_of(r.types, r.objects[object].types, declared.parameters[k].types)
                good = false
                break
            end
            push_within!(t.ticker, atoms.args, object)
        end
    end
    good || refuse_atom(r, i, declared)
    push_within!(t.ticker, atoms.predicate, number)
    push_within!(t.ticker, atoms.offsets, length(atoms.args) + 1)
end

function refuse_atom(r::Reader, i::Int, declared::Predicate)
    refuse_timed(r.tokens, i)
    resolve_arguments(r, i, declared)
    fail_expected(r.tokens, i, "an atom of '$(shorten(declared.name))'")
end

function refuse_timed(t::Tokens, i::Int)
    is_timed = head(t, i) == "at" && isword(t, i + 2) && isnumber(word(t, i + 2)) && isopen(t, i + 3)
    is_timed && fail(t, i, :unsupported, "timed initial literals are not supported")
end

function push_value!(r::Reader, i::Int, values::InitialAtoms, value::Vector{Decimal}, object_of::Vector{Int32})
    t = r.tokens
    parts = children(t, i, 2)
    expect_parts(t, i, parts, 2)
    isopen(t, parts[1]) || fail_expected(t, parts[1], "a function term such as '(total-cost)'")
    number = get(r.function_number, head(t, parts[1]), Int32(0))
    number == 0 &&
        fail(t, parts[1], :meaning, "unknown function $(quoted(t, parts[1])), expected one declared in :functions")
    push_atom!(r, parts[1], values, number, r.functions[number], object_of)
    push_within!(t.ticker, value, parse_number(t, parts[2]))
end

function check_negated(r::Reader, negated, init::InitialAtoms, predicate_of, object_of)
    t = r.tokens
    true_atoms = Set((tick!(t); (init.predicate[k], collect(arguments(init, k)))) for k in 1:length(init))
    for (whole, atom) in negated
        tick!(t)
        predicate = predicate_of[t.symbol[atom+1]]
        terms = resolve_arguments(r, atom, r.predicates[predicate])
        (predicate, -terms) in true_atoms && fail(t, whole, :meaning,
            "found an atom that is also stated true, expected one or the other")
    end
end
