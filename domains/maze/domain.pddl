; A way through a maze. Who stands beside a portal may jump to its twin.
(define (domain maze)
  (:requirements :strips :typing)
  (:types place)
  (:predicates (next ?a ?b - place) (twin ?p ?q - place) (at ?c - place))

  (:action step
    :parameters (?from ?to - place)
    :precondition (and (next ?from ?to) (at ?from))
    :effect (and (at ?to) (not (at ?from))))

  (:action jump
    :parameters (?from ?portal ?to - place)
    :precondition (and (next ?from ?portal) (twin ?portal ?to) (at ?from))
    :effect (and (at ?to) (not (at ?from)))))
