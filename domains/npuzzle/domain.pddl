; Numbered tiles in a square frame with one hole.
(define (domain n-puzzle-typed)
  (:requirements :strips :typing)
  (:types position tile)
  (:predicates (at ?tile - tile ?position - position) (neighbor ?p1 ?p2 - position) (empty ?position - position))

  (:action move
    :parameters (?tile - tile ?from ?to - position)
    :precondition (and (neighbor ?from ?to) (at ?tile ?from) (empty ?to))
    :effect (and (at ?tile ?to) (empty ?from) (not (at ?tile ?from)) (not (empty ?to)))))
