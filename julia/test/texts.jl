"Tasks from PDDL texts, and the errors of texts that are none."
module Texts

using PlanRank: Limits, Source, load

export task_from_text, error_of

task_from_text(domain, problem, limits = Limits(); domain_name = "domain", problem_name = "problem") =
    load(Source(domain_name, domain), Source(problem_name, problem), limits).task

"What `f` throws, or its result."
error_of(f) =
    try
        f()
    catch e
        e
    end

end
