; Boxes are pushed onto targets, one at a time; boxes have no names, because any of them will do.
(define (domain sokoban)
  (:requirements :strips :typing)
  (:types place direction)
  (:predicates (next ?a ?b - place ?d - direction) (player ?c - place) (box ?c - place) (clear ?c - place))

  (:action move
    :parameters (?from ?to - place ?d - direction)
    :precondition (and (next ?from ?to ?d) (player ?from) (clear ?to))
    :effect (and (player ?to) (clear ?from) (not (player ?from)) (not (clear ?to))))

  (:action push
    :parameters (?from ?via ?to - place ?d - direction)
    :precondition (and (next ?from ?via ?d) (next ?via ?to ?d) (player ?from) (box ?via) (clear ?to))
    :effect (and (player ?via) (box ?to) (clear ?from) (not (player ?from)) (not (box ?via)) (not (clear ?to)))))
